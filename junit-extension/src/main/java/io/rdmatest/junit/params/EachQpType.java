package io.rdmatest.junit.params;

import io.rdmatest.junit.engine.ParameterSource;
import io.rdmatest.verbs.QpType;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Run a test with each of several types of service, as a {@link QpType} parameter.
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
public @interface EachQpType {

    /**
     * List the types.
     *
     * @return types; empty for all
     */
    QpType[] value() default {};
}
