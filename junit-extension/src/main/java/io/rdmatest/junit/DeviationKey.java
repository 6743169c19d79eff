package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Name what a test, or the tests of a class, demand of a device, so that deviations files can refer to it by the name
 * instead of the test's class and method, which change.
 *
 * <p>The annotation alone changes nothing: it takes an entry with this key in a file of {@link RdmaConfiguration#DEVIATIONS},
 * or in those that come with the project, and the device of that entry.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface DeviationKey {

    /**
     * Give the name.
     *
     * @return lower-case letters, digits and hyphens, for example {@code "rc-short-receive"}
     */
    String value();
}
