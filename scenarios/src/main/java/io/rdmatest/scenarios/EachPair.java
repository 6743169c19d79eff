package io.rdmatest.scenarios;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Runs a test for each ordered pair of the fabric's nodes, one after the other, in a parallel run as well. Its {@link Stage} has the pair's places; on a
 * fabric of one node, both are there. A node that can't be reached fails the tests of its own pairs.
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
@TestTemplate
@Execution(ExecutionMode.SAME_THREAD)
@ExtendWith(EachPairProvider.class)
public @interface EachPair {}
