package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Run a test, or the tests of a class, only where the run's port is fast enough, has a large enough MTU, or is one of enough
 * ports; elsewhere they are skipped with a reason that begins with {@code unsupported by the device}.
 *
 * <p>A rate or an MTU that the fabric file promises and the port does not have fails the test instead.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(RequiresPortCondition.class)
public @interface RequiresPort {

    /**
     * Demand a rate.
     *
     * @return the least rate in Gb/s, width times the nominal speed of a lane; 0 for any
     */
    double minRate() default 0;

    /**
     * Demand a path MTU.
     *
     * @return the least active MTU in bytes: 256, 512, 1024, 2048 or 4096; 0 for any
     */
    int minMtu() default 0;

    /**
     * Demand several ports.
     *
     * @return the least number of ports of the device, 0 … 255
     */
    int minPorts() default 0;
}
