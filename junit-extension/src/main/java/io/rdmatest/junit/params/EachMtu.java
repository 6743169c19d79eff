package io.rdmatest.junit.params;

import io.rdmatest.junit.engine.ParameterSource;
import io.rdmatest.verbs.Mtu;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Run a test with each path MTU that the port supports, up to its active one, as an {@link Mtu} parameter, or as an
 * {@code int} in bytes. What was listed and is not supported is left out, and a report entry says so; if nothing is left,
 * the test fails.
 *
 * <p>Stands on a parameter of an {@link RdmaParameterizedTest @RdmaParameterizedTest}, on such a method, or on a
 * {@code @ParameterizedTest} or {@code @ParameterizedClass}; several sources make the product of their values.
 */
@Target({ElementType.PARAMETER, ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ArgumentsSource(SourceArgumentsProvider.class)
@ParameterSource
public @interface EachMtu {

    /**
     * List the MTUs to choose from.
     *
     * @return MTUs; empty for all
     */
    Mtu[] value() default {};
}
