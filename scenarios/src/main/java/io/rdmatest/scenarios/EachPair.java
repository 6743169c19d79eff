package io.rdmatest.scenarios;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Runs a test for each ordered pair of the fabric's nodes, one after the other. Its first parameter is the {@link Stage} with
 * the pair's places; on a fabric of one node, both are there.
 *
 * <pre>{@code
 * @EachPair
 * void pings(Stage stage) {
 *     stage.runPair(new RpingRoles.Server(options), new RpingRoles.Client(options), Duration.ofMinutes(1));
 * }
 * }</pre>
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@ParameterizedTest(name = "{0}")
@ArgumentsSource(EachPairProvider.class)
@ExtendWith(ScenarioSettingsExtension.class)
public @interface EachPair {}
