package io.rdmatest.junit;

import io.rdmatest.ConnectionMode;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Choose how injected connections are brought up. The annotation nearest to the parameter counts: on the parameter or
 * field, on the method, on the class, on an enclosing class; without any it is {@link ConnectionMode#RDMA_CM}.
 * {@link ConnectionSpec @ConnectionSpec} chooses the rest of a connection.
 */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface ConnectedBy {

    /**
     * Name the way.
     *
     * @return the mode
     */
    ConnectionMode value();
}
