package io.rdmatest.scenarios;

import io.rdmatest.ConnectionMode;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Runs a parameterized test with every row of values over every way to bring a reliable connection up, which the test gets
 * as the parameter after those of the row:
 *
 * <pre>{@code
 *
 * @ParameterizedTest
 * @EveryBringUp({"SEND, 64", "SEND, 4096"})
 * void sends(Operation operation, int size, ConnectionMode bringUp, FabricDevice device) { … }
 * }</pre>
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@ArgumentsSource(EveryBringUpProvider.class)
public @interface EveryBringUp {

    /** The rows: values separated by commas, converted as those of {@code @CsvSource} are. */
    String[] value();

    /** The ways, all unless given. */
    ConnectionMode[] by() default {ConnectionMode.RDMA_CM, ConnectionMode.EXTERNAL_QP, ConnectionMode.RAW};
}
