package io.rdmatest.junit.fabric;

import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.OnDevice;
import io.rdmatest.junit.params.EachDevice;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Let the network lose, delay, double, reorder or damage packets while a test runs, or each test of a class: the packets of
 * soft-RoCE that the nodes send. The one on the method takes the place of the one on the class.
 *
 * <p>On the test's own node it is the device that the test is on which sends so, also where {@link EachDevice @EachDevice} chose
 * it, or {@link OnDevice @OnDevice} on the test or its class; a device that a parameter's own {@code @OnDevice} chose is not hit.
 * On another node it is the device that the fabric's file names.
 *
 * <p>It lasts from before the {@code @BeforeEach} methods until after the {@code @AfterEach} methods, and ends also when the
 * test fails or its process is killed. A test that takes longer than a fault can last, half an hour or, with a time limit of
 * more than ten minutes, an hour, fails. What was injected is a parameter of the test in the report, and what the kernel counted
 * is in the file {@code fault-statistics.txt}. Error counters of the device may grow. On a fabric that does not allow faults
 * the test is skipped with a reason that begins with {@code not permitted}.
 *
 * @see io.rdmatest.fabric.fault.NetworkFault
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExclusiveDevice
@IgnoreCounters
@ExtendWith(FaultExtension.class)
public @interface Fault {

    /**
     * Lose packets.
     *
     * @return 0 … 100 percent of the packets
     */
    double loss() default 0;

    /**
     * Delay packets.
     *
     * @return for example {@code 5ms}; at most 1 minute; empty for not
     */
    String delay() default "";

    /**
     * Vary the delay.
     *
     * @return by how much to both sides, for example {@code 500us}; at most the delay; empty for not
     */
    String jitter() default "";

    /**
     * Send packets twice.
     *
     * @return 0 … 100 percent of the packets
     */
    double duplicate() default 0;

    /**
     * Let packets overtake those that are delayed.
     *
     * @return 0 … 100 percent of the packets; needs a delay
     */
    double reorder() default 0;

    /**
     * Flip a bit of packets.
     *
     * @return 0 … 100 percent of the packets
     */
    double corrupt() default 0;

    /**
     * Choose the nodes that send so.
     *
     * @return names of nodes of the fabric; empty for all
     */
    String[] nodes() default {};
}
