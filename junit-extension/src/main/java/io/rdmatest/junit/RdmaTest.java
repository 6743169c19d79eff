package io.rdmatest.junit;

import io.rdmatest.junit.params.RdmaParameterizedTest;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Declare a test, or all tests of a class, to run on an RDMA device.
 *
 * <p>On a method the annotation is a {@link Test @Test} of its own. On a class it marks no method as a test: it lends the
 * device, the default timeout and the tag {@value #TAG} to whatever tests the class has, be they {@code @RdmaTest},
 * {@code @Test}, {@code @ParameterizedTest}, {@code @RepeatedTest} or {@code @TestFactory}, also in {@code @Nested}
 * classes, in subclasses and in a {@code @ParameterizedClass}. A parameterised method therefore stands in an annotated class
 * and is not annotated itself, or it is an {@link RdmaParameterizedTest @RdmaParameterizedTest}:
 *
 * {@snippet :
 * @RdmaTest
 * class WriteTest {
 *
 *     @RdmaTest
 *     void arrives(Connection connection, @Registered(size = "1MiB") MemoryRegion target) { }
 *
 *     @ParameterizedTest
 *     @ValueSource(ints = {1, 4096})
 *     void arrivesInSize(int size, Connection connection) { }
 *
 *     @RdmaParameterizedTest
 *     @EachSize(from = "64B", to = "4MiB")
 *     void arrivesInAnySize(Connection connection, long size) { }
 * }
 * }
 *
 * <p>Parameters of tests, lifecycle methods and constructors are provisioned when they are first asked for and released
 * after the test in the reverse order, also when it fails or times out. After that the ledger of native objects must be
 * as it was before the test.
 *
 * <p>Where parallel execution is switched on, such tests run at the same time, also on one device: every native object is
 * accounted to the test on whose thread, or on whose threads' threads, it was made. A test that needs the device for itself
 * says so with {@link ExclusiveDevice @ExclusiveDevice}.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@Test
@Tag(RdmaTest.TAG)
@ResourceLock(value = RdmaTest.DEVICE_LOCK, mode = ResourceAccessMode.READ)
@ExtendWith(JUnitVersion.class)
@ExtendWith(RdmaTestExtension.class)
public @interface RdmaTest {

    /** The tag of every test that runs on a device. */
    String TAG = "rdma";

    /**
     * The key of the resource lock of all devices of the run: tests that use a device take it for reading, those that need
     * the device for themselves for writing.
     */
    String DEVICE_LOCK = "io.rdmatest.device";

    /**
     * The key of the resource lock of rsockets. In one process they are not independent of each other: librdmacm serves the
     * handshakes of all of them on one thread, and one rpoll that ends holds up every other. So tests whose rsockets a peer
     * may leave hanging take it for writing.
     */
    String RSOCKET_LOCK = "io.rdmatest.rsocket";

    /**
     * Bound the body of a test, and each lifecycle method, in time.
     *
     * @return a duration such as {@code "500 ms"}, {@code "30 s"}, {@code "2 min"} or {@code "PT30S"}; empty for the value
     *     of the nearest enclosing annotation, else of {@value RdmaConfiguration#TIMEOUT}, else 30 s
     */
    String timeout() default "";
}
