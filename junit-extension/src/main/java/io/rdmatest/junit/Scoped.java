package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Choose how long an injected resource lives. Without it a resource lives as long as the test, and in {@code @BeforeAll}
 * methods and constructors of {@code PER_CLASS} instances as long as the class. The device and its context live as long as
 * the run, whatever this says.
 *
 * <p>Resources use the protection domain of their own scope; those of a test whose method asks for a {@code @Scoped(CLASS)}
 * protection domain use that one.
 */
@Target({ElementType.PARAMETER, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Scoped {

    /**
     * Name the scope.
     *
     * @return the scope
     */
    ResourceScope value();
}
