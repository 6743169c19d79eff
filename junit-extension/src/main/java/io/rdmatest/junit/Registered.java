package io.rdmatest.junit;

import io.rdmatest.verbs.Access;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Say how large the buffer is that is registered for a {@code MemoryRegion} parameter, and who may do what with it. It is
 * registered with the protection domain of the test, which injected connections use as well.
 */
@Target({ElementType.PARAMETER, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Registered {

    /**
     * Size the buffer.
     *
     * @return a number of bytes with a unit: {@code "64B"}, {@code "4KiB"}, {@code "1MiB"}, {@code "1GiB"}, or without one
     *     for bytes
     */
    String size() default "4KiB";

    /**
     * Grant access.
     *
     * @return the access flags; empty for local write, remote write, remote read and, where the device has atomics, remote
     *     atomic
     */
    Access[] access() default {};
}
