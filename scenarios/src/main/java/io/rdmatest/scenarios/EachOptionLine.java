package io.rdmatest.scenarios;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Runs a parameterized test once for each line of options, which are written as on the program's command line.
 *
 * <p>The first parameter of the test is the options of a role; its type says which program's options the lines are:
 *
 * <pre>{@code
 *
 * @ParameterizedTest
 * @EachOptionLine({"-C 100 -S 64 -V", "-q -S 4096"})
 * void pings(RpingOptions options, FabricDevice device) { … }
 * }</pre>
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@ArgumentsSource(EachOptionLineProvider.class)
public @interface EachOptionLine {

    /** The lines, each with the options that {@code ./rdmatest <program>} takes; an empty one stands for the defaults. */
    String[] value();
}
