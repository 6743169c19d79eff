package io.rdmatest.junit.engine;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Marks an annotation that gives a parameter its values. */
@Target(ElementType.ANNOTATION_TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface ParameterSource {

    /** Marks a source whose value is the device, with port and GID, of what the same invocation gets injected. */
    @Target(ElementType.ANNOTATION_TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface OfDevice {}

    /** Marks a source whose value is the way in which injected connections are brought up. */
    @Target(ElementType.ANNOTATION_TYPE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface OfMode {}
}
