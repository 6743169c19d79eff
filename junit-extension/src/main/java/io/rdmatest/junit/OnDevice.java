package io.rdmatest.junit;

import io.rdmatest.junit.condition.RequiresDevice;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Take a resource from a device of choice, or run a test, or all of a class, on it. The annotation nearest to the parameter
 * counts: on the parameter or field, on the method, on the class, on an enclosing class. Without any, resources come from
 * the run's device, the one that {@code rdma.device} and {@code rdma.fabric} select.
 *
 * <p>Two parameters on different devices get resources of those devices. A device that is not there, or has no active port,
 * fails the test: the message says which devices are there. So does a node that the fabric does not have, or that another
 * host is. Where a test is to be skipped instead, condition it with
 * {@link RequiresDevice @RequiresDevice}.
 */
@Target({
    ElementType.PARAMETER,
    ElementType.FIELD,
    ElementType.METHOD,
    ElementType.CONSTRUCTOR,
    ElementType.TYPE,
    ElementType.ANNOTATION_TYPE
})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface OnDevice {

    /**
     * Name the device.
     *
     * @return its name, such as {@code rxe0} or {@code mlx5_0}, with the port if it matters, such as {@code mlx5_0/2};
     *     {@code auto} for the first active one; empty with {@link #node()}
     */
    String value() default "";

    /**
     * Name a node of the fabric instead, whose device is taken.
     *
     * @return the name that the fabric's file gives a node of this host, without {@code launch}: resources of another host
     *     can't be handed to a test in this JVM; empty with {@link #value()}
     */
    String node() default "";
}
