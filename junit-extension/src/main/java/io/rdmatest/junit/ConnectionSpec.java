package io.rdmatest.junit;

import io.rdmatest.ConnectionMode;
import io.rdmatest.verbs.Mtu;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Describe injected connections, and the pair of {@code QueuePair} parameters that is one. The annotation nearest to the
 * parameter counts as a whole: on the parameter or field, on the method, on the class, on an enclosing class; without any,
 * what {@link ConnectionOptions#defaults()} says.
 */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface ConnectionSpec {

    /**
     * Choose how the connection is brought up.
     *
     * @return one mode; none for what {@link ConnectedBy @ConnectedBy} and {@link ConnectionModes @ConnectionModes} say, else
     *     {@link ConnectionMode#RDMA_CM}
     */
    ConnectionMode[] mode() default {};

    /**
     * Choose the path MTU, in the modes {@link ConnectionMode#EXTERNAL_QP} and {@link ConnectionMode#RAW}.
     *
     * @return at most the port's active MTU; {@code UNKNOWN} for the path's
     */
    Mtu mtu() default Mtu.UNKNOWN;

    /**
     * Bound the outstanding sends of either side.
     *
     * @return at least 1, at most the device's max_qp_wr
     */
    int maxSendWr() default 64;

    /**
     * Bound the outstanding receives of either side.
     *
     * @return at least 1, at most the device's max_qp_wr
     */
    int maxReceiveWr() default 64;

    /**
     * Bound the segments of a work request.
     *
     * @return at least 1, at most the device's max_sge
     */
    int maxSge() default 1;

    /**
     * Bound the data that can be sent inline.
     *
     * @return bytes, at least 0
     */
    int maxInline() default 0;

    /**
     * Give each side a completion channel.
     *
     * @return whether completions can be awaited as events
     */
    boolean events() default false;

    /**
     * Choose how often a request without answer is repeated.
     *
     * @return 0 to 7; soft-RoCE takes 7 for without end
     */
    int retryCount() default 7;

    /**
     * Choose how often a request is repeated after "receiver not ready".
     *
     * @return 0 to 7, where 7 is without end
     */
    int rnrRetryCount() default 7;

    /**
     * Choose how long the transport waits for an acknowledgement before it sends again.
     *
     * @return 0 to 31: 4.096 µs · 2^exponent, where 0 is without end; -1 for the usual one
     */
    int ackTimeout() default -1;

    /**
     * Bound each wait of the set-up.
     *
     * @return a duration such as {@code "500 ms"} or {@code "10 s"}
     */
    String timeout() default "10 s";
}
