package io.rdmatest.junit;

import io.rdmatest.verbs.DeviceCapability;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Run a test, or the tests of a class, only on a device that can do certain things; elsewhere they are skipped with a reason
 * that begins with {@code unsupported by the device} and names the attribute that shows it.
 *
 * <p>All that is said must hold, also where several annotations say it, on the test, its class, or annotations on these. A
 * capability that the fabric file promises and the device lacks fails the test instead.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(RequiresCapabilityCondition.class)
public @interface RequiresCapability {

    /**
     * List the capabilities.
     *
     * @return what the device must be able to do; may be empty
     */
    DeviceCapability[] value() default {};

    /**
     * Demand inline data. Since no attribute tells, it is tried out once per run.
     *
     * @return the least number of bytes that a reliable connection can send inline, 0 … 65536
     */
    int minInline() default 0;

    /**
     * Demand scatter/gather.
     *
     * @return the least number of elements of a work request (max_sge), from 0
     */
    int minSge() default 0;

    /**
     * Demand deep queues.
     *
     * @return the least number of outstanding work requests on a queue (max_qp_wr), from 0
     */
    int minQueueDepth() default 0;

    /**
     * Demand outstanding reads and atomics, in both directions.
     *
     * @return the least number of them (max_qp_rd_atom, max_qp_init_rd_atom), from 0
     */
    int minReadAtomic() default 0;
}
