package io.rdmatest.junit.params;

import io.rdmatest.junit.JUnitVersion;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.RdmaTestExtension;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Declare a test that runs on an RDMA device once for each combination of the values of its sources.
 *
 * <p>{@link RdmaTest @RdmaTest} declares a single test, so a method has the one or the other. Sources are
 * {@link EachSize @EachSize}, {@link EachMtu @EachMtu}, {@link EachQpType @EachQpType},
 * {@link EachConnectionMode @EachConnectionMode}, {@link EachDevice @EachDevice} and {@link EachGid @EachGid}. One that stands on a
 * parameter serves this parameter. One that stands on the method serves the first parameter of a fitting type; parameters
 * may be in any order:
 *
 * {@snippet :
 * @RdmaParameterizedTest
 * @EachSize(from = "64B", to = "4MiB")
 * void fetchAndAdd(QueuePair client, QueuePair server, long size) { }
 *
 * @RdmaParameterizedTest
 * void creates(@EachQpType QpType type, @EachMtu Mtu mtu, RdmaResources resources) { }
 * }
 *
 * <p>JUnit's own sources ({@code @ValueSource}, {@code @EnumSource}, {@code @CsvSource}, {@code @MethodSource}, and any other
 * {@code @ArgumentsSource}) on the method take part in the product: the values of a row go to the first parameters that no
 * source of the above serves and that are no resources, and are converted as {@code @ParameterizedTest} does for strings.
 * Several of them are alternatives, as in a {@code @ParameterizedTest}.
 *
 * <p>In a class with {@code @RdmaTest} the sources also stand on a {@code @ParameterizedTest}, whose parameters with values
 * come first, and on a {@code @ParameterizedClass}. There, too, several of them make the product, but not with JUnit's own.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@TestTemplate
@Tag(RdmaTest.TAG)
@ResourceLock(value = RdmaTest.DEVICE_LOCK, mode = ResourceAccessMode.READ)
@ExtendWith(JUnitVersion.class)
@ExtendWith(RdmaTestExtension.class)
@ExtendWith(RdmaParameterizedTestExtension.class)
public @interface RdmaParameterizedTest {

    /**
     * Bound each invocation in time.
     *
     * @return as {@link RdmaTest#timeout()}
     */
    String timeout() default "";
}
