package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Take a resource from the device of a node of the fabric, or run a test, or all of a class, on it. The annotation nearest
 * to the parameter counts, as with {@link OnDevice @OnDevice}; one place has one of the two.
 *
 * <p>The node has to be one of this host, without {@code launch} in the fabric's file: resources of another host can't be
 * handed to a test in this JVM. A node that the fabric does not have, or that another host is, fails the test.
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
public @interface OnNode {

    /**
     * Name the node.
     *
     * @return the name that the fabric's file gives it
     */
    String value();
}
