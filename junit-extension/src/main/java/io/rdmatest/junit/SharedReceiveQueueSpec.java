package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Size the queue of a {@code SharedReceiveQueue} parameter. Without it: 64 work requests of one segment. */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface SharedReceiveQueueSpec {

    /**
     * Bound the outstanding receives.
     *
     * @return at least 1
     */
    int maxWr() default 64;

    /**
     * Bound the segments of one receive.
     *
     * @return at least 1
     */
    int maxSge() default 1;
}
