package io.rdmatest.junit.params;

import io.rdmatest.junit.engine.ParameterSource;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Run a test with each of several transfer sizes, in bytes, as an {@code int} or {@code long} parameter: those between two,
 * each a multiple of the one before, or those listed.
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
public @interface EachSize {

    /**
     * Name the smallest size.
     *
     * @return a size such as {@code "64B"} or {@code "4KiB"}, at least 1 B; empty with {@link #values()}
     */
    String from() default "";

    /**
     * Name the largest size.
     *
     * @return a size not smaller than {@link #from()}; it is the last one, also where no multiple hits it; empty with
     *     {@link #values()}
     */
    String to() default "";

    /**
     * Choose how much larger each size is than the one before.
     *
     * @return at least 2
     */
    int factor() default 2;

    /**
     * List the sizes, instead of {@link #from()} and {@link #to()}.
     *
     * @return sizes such as {@code "1B"}, {@code "4097B"}; empty for those between the two bounds
     */
    String[] values() default {};
}
