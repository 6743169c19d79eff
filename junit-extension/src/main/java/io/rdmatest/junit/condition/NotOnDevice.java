package io.rdmatest.junit.condition;

import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.junit.RdmaConfiguration;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Keep a test, or the tests of a class, from certain devices: there they are skipped with a reason that begins with
 * {@code not selected}.
 *
 * <p>A device is meant if all that is given applies to it; at least one of name, driver and transport is. What a device does
 * wrong belongs into a deviations file instead ({@link RdmaConfiguration#DEVIATIONS}): there the test still runs, and says
 * when the device has learnt it.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(NotOnDeviceCondition.class)
public @interface NotOnDevice {

    /**
     * Name the devices.
     *
     * @return a regular expression that the whole name matches, for example {@code "rxe.*"}; empty for any
     */
    String name() default "";

    /**
     * Name the kernel drivers.
     *
     * @return regular expressions of which the whole driver name matches one, for example {@code "rdma_rxe"}; empty for any
     */
    String[] driver() default {};

    /**
     * List the wire protocols.
     *
     * @return the protocols of which the port has one; empty for any
     */
    DeviceTransport[] transport() default {};

    /**
     * Say why.
     *
     * @return what would be wrong with it, for the reason of the skip; not blank
     */
    String because();
}
