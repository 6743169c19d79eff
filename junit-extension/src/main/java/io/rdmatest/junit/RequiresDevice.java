package io.rdmatest.junit;

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
 * Run a test, or the tests of a class, only on a device with certain properties; elsewhere they are skipped with a reason
 * that begins with {@code unsupported by the device} or, where another device was asked for by name or driver,
 * {@code not selected}.
 *
 * <p>All that is said must hold, also where several annotations say it, on the test, its class, or annotations on these.
 * Having no device at all is no reason to skip: it fails the test. So does lacking what the fabric file promises.
 *
 * <p>For what else a device can do there is {@link RequiresCapability @RequiresCapability}; for its port,
 * {@link RequiresPort @RequiresPort}.
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
     * Demand atomic operations.
     *
     * @return whether the device must have them
     */
    boolean atomics() default false;

    /**
     * Demand shared receive queues.
     *
     * @return whether the device must have them
     */
    boolean sharedReceiveQueues() default false;

    /**
     * Demand multicast.
     *
     * @return whether the device must be able to attach queue pairs to multicast groups
     */
    boolean multicast() default false;

    /**
     * Demand a path MTU.
     *
     * @return the least active MTU in bytes: 256, 512, 1024, 2048 or 4096; 0 for any
     */
    int minMtu() default 0;
}
