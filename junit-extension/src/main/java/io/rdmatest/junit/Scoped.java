package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Choose how long an injected resource lives. Without it a resource lives as long as the test, and in {@code @BeforeAll}
 * methods, static fields and constructors of {@code PER_CLASS} instances as long as the class. The device and its context
 * live as long as the run, whatever this says.
 *
 * <p>Whoever asks for the same thing in a scope {@link ResourceScope#CLASS CLASS} or {@link ResourceScope#RUN RUN} gets the
 * same object: the same type, device, qualifiers and name. A method that asks twice gets two; a {@link #name()} tells apart
 * what is otherwise the same.
 *
 * <p>Memory, queue pairs and connections work together only on one protection domain. Those of one method share that of the
 * widest scope that one of them asks for: {@code (Connection c, @Scoped(RUN) MemoryRegion m)} puts both on the run's.
 */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Scoped {

    /**
     * Name the scope.
     *
     * @return the scope
     */
    ResourceScope value();

    /**
     * Tell resources apart that are otherwise the same.
     *
     * @return any text; empty for no name
     */
    String name() default "";
}
