package io.rdmatest.junit;

import io.rdmatest.verbs.QpType;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Ask for a queue pair of one's own: not connected, in the state RESET, with a send and a receive completion queue of its
 * own. Without this annotation two {@code QueuePair} parameters are the two sides of one connection. Bounds end at what the
 * device says of itself; beyond them the parameter is refused by name.
 */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface QueuePairSpec {

    /**
     * Choose the type of service.
     *
     * @return the type
     */
    QpType type() default QpType.RC;

    /**
     * Bound the outstanding sends.
     *
     * @return at least 1
     */
    int maxSendWr() default 16;

    /**
     * Bound the outstanding receives.
     *
     * @return at least 1
     */
    int maxReceiveWr() default 16;

    /**
     * Bound the segments of a work request, send or receive.
     *
     * @return at least 1
     */
    int maxSge() default 1;

    /**
     * Bound the data that is copied into a work request.
     *
     * @return bytes, at least 0
     */
    int maxInline() default 0;
}
