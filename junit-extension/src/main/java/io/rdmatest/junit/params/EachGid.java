package io.rdmatest.junit.params;

import io.rdmatest.junit.engine.ParameterSource;
import io.rdmatest.verbs.GidType;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Run a test with each GID of the port that is in use. Connections that are injected into the test use it: by its index
 * without rdma_cm, by its address with rdma_cm. A {@link io.rdmatest.verbs.GidEntry} or
 * {@link io.rdmatest.fabric.FabricDevice} parameter tells which it is. With {@link EachDevice @EachDevice}, those of each
 * device.
 *
 * <p>Stands on a parameter of an {@link RdmaParameterizedTest @RdmaParameterizedTest}, on such a method, or on a
 * {@code @ParameterizedTest} or {@code @ParameterizedClass}; several sources make the product of their values.
 * On an {@code @RdmaParameterizedTest} method it needs no parameter.
 */
@Target({ElementType.PARAMETER, ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ArgumentsSource(SourceArgumentsProvider.class)
@ParameterSource
@ParameterSource.OfDevice
public @interface EachGid {

    /**
     * List the types.
     *
     * @return types; empty for all. If no GID is of these types, the test fails
     */
    GidType[] value() default {};
}
