package io.rdmatest.junit.condition;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Run a test, or the tests of a class, only on a fabric of enough nodes; on smaller ones they are skipped with a reason that
 * begins with {@code peer absent}.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(RequiresNodesCondition.class)
public @interface RequiresNodes {

    /**
     * Give the number of nodes.
     *
     * @return the least number of nodes in the fabric file, local and launched ones, 1 … 100000
     */
    int value();
}
