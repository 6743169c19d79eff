package io.rdmatest.junit.params;

import io.rdmatest.ConnectionMode;
import io.rdmatest.junit.engine.ParameterSource;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Run a test with each of several ways to bring up connections. Connections that are injected into the test are brought up
 * that way, unless a parameter's own annotation says otherwise; a {@link ConnectionMode} parameter tells which it is.
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
@ParameterSource.OfMode
public @interface EachConnectionMode {

    /**
     * List the ways.
     *
     * @return modes; empty for all
     */
    ConnectionMode[] value() default {};
}
