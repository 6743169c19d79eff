package io.rdmatest.junit;

import io.rdmatest.ConnectionMode;
import io.rdmatest.junit.params.EachConnectionMode;
import io.rdmatest.verbs.Mtu;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Describe injected connections, and the pair of {@code QueuePair} parameters that is one.
 *
 * <p>Each member counts where it is set nearest to the parameter: on the parameter or field, on the method, on the class, on
 * an enclosing class, then by the builder of an {@link RdmaExtension}; what is set nowhere is as
 * {@link ConnectionOptions#defaults()} says.
 */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface ConnectionSpec {

    /** Stands for a number that is not set here. */
    int UNSET = -1;

    /**
     * Choose how the connection is brought up.
     *
     * @return one mode; none where it is not set here. {@link EachConnectionMode @EachConnectionMode} goes before the method and
     *     what is around it. Without any it is {@link ConnectionMode#RDMA_CM}
     */
    ConnectionMode[] mode() default {};

    /**
     * Choose the path MTU, in the modes {@link ConnectionMode#EXTERNAL_QP} and {@link ConnectionMode#RAW}.
     *
     * @return at most the port's active MTU; the path's if it is set nowhere
     */
    Mtu mtu() default Mtu.UNKNOWN;

    /**
     * Bound the outstanding sends of either side.
     *
     * @return at least 1, at most the device's max_qp_wr; 64 if it is set nowhere
     */
    int maxSendWr() default UNSET;

    /**
     * Bound the outstanding receives of either side.
     *
     * @return at least 1, at most the device's max_qp_wr; 64 if it is set nowhere
     */
    int maxReceiveWr() default UNSET;

    /**
     * Bound the segments of a work request.
     *
     * @return at least 1, at most the device's max_sge; 1 if it is set nowhere
     */
    int maxSge() default UNSET;

    /**
     * Bound the data that can be sent inline.
     *
     * @return bytes, at least 0; 0 if it is set nowhere
     */
    int maxInline() default UNSET;

    /**
     * Give each side a completion channel.
     *
     * @return whether completions can be awaited as events; they can where any annotation around says so
     */
    boolean events() default false;

    /**
     * Choose how often a request without answer is repeated.
     *
     * @return 0 to 7; soft-RoCE takes 7 for without end; 7 if it is set nowhere
     */
    int retryCount() default UNSET;

    /**
     * Choose how often a request is repeated after "receiver not ready".
     *
     * @return 0 to 7, where 7 is without end; 7 if it is set nowhere
     */
    int rnrRetryCount() default UNSET;

    /**
     * Choose how long the transport waits for an acknowledgement before it sends again.
     *
     * @return 0 to 31: 4.096 µs · 2^exponent, where 0 is without end; the device's own if it is set nowhere
     */
    int ackTimeout() default UNSET;

    /**
     * Bound each wait of the set-up.
     *
     * @return a duration such as {@code "500 ms"}; 10 s if it is set nowhere
     */
    String timeout() default "";
}
