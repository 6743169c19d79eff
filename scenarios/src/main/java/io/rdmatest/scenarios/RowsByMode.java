package io.rdmatest.scenarios;

import io.rdmatest.ConnectionMode;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Runs a parameterized test with every row of values over every way to bring a reliable connection up, which the test gets as
 * the parameter after those of the row. JUnit's own sources and {@code @EachConnectionMode} make no product with each other.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ArgumentsSource(RowsByModeProvider.class)
@interface RowsByMode {

    /** The rows: values separated by commas, converted as those of {@code @CsvSource} are. */
    String[] value();

    /** The ways; those of a program by rdma_cm only are two. */
    ConnectionMode[] modes() default {ConnectionMode.RDMA_CM, ConnectionMode.EXTERNAL_QP, ConnectionMode.RAW};
}
