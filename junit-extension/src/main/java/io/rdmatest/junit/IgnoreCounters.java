package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Declare that error counters of the device, or of the devices that other nodes have in it, may grow during a test, or during
 * all tests of a class, because the test provokes errors. Without it a test fails whose device had to give up, as its counters
 * tell, even if the test itself noticed nothing.
 *
 * <p>Annotations on the method, the class and enclosing classes add up.
 *
 * @see RdmaConfiguration#COUNTERS
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface IgnoreCounters {

    /**
     * Name the counters.
     *
     * @return names as the provider has them, for example {@code retry_exceeded_err}, in which {@code *} stands for any
     *     letters and {@code ?} for one; all unless set
     */
    String[] value() default "*";
}
