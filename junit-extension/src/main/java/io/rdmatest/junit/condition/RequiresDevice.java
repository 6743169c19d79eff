package io.rdmatest.junit.condition;

import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Run a test, or the tests of a class, only on a device and port with certain properties; elsewhere they are skipped with a
 * reason that begins with {@code unsupported by the device} and names the attribute that shows it or, where another device
 * was asked for by name or driver, with {@code not selected}.
 *
 * <p>All that is said must hold, also where several annotations say it, on the test, its class, or annotations on these.
 * Having no device at all is no reason to skip: it fails the test. So does lacking what the fabric file promises.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(RequiresDeviceCondition.class)
public @interface RequiresDevice {

    /**
     * Name the devices.
     *
     * @return a regular expression that the whole name matches, for example {@code "rxe.*"}; empty for any
     */
    String name() default "";

    /**
     * Name the kernel drivers.
     *
     * @return regular expressions of which the whole driver name matches one, for example {@code "mlx5.*"}; empty for any
     */
    String[] driver() default {};

    /**
     * List the wire protocols.
     *
     * @return the protocols of which the port has one; empty for any
     */
    DeviceTransport[] transport() default {};

    /**
     * List the link layers.
     *
     * @return the link layers of which the port has one; empty for any
     */
    LinkLayer[] linkLayer() default {};

    /**
     * List the types of the selected GID.
     *
     * @return the types of which the GID has one; empty for any
     */
    GidType[] gidType() default {};

    /**
     * List the capabilities.
     *
     * @return what the device must be able to do; empty for nothing in particular
     */
    DeviceCapability[] capabilities() default {};

    /**
     * Demand a rate.
     *
     * @return the least rate of the port in Gb/s, width times the nominal speed of a lane; 0 for any
     */
    double minRate() default 0;

    /**
     * Demand a path MTU.
     *
     * @return the least active MTU of the port in bytes: 256, 512, 1024, 2048 or 4096; 0 for any
     */
    int minMtu() default 0;

    /**
     * Demand several ports.
     *
     * @return the least number of ports of the device, 0 … 255
     */
    int minPorts() default 0;

    /**
     * Demand inline data. No attribute tells it, so it is tried out once per run.
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
