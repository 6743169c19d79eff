package io.rdmatest.junit;

import io.rdmatest.verbs.Access;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Say how large the buffer is that is registered for a {@code MemoryRegion} parameter or field, where it lies, and who may do
 * what with it. It is
 * registered with the protection domain of the test, which injected connections use as well.
 */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.ANNOTATION_TYPE})
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

    /**
     * Choose the boundary on which the buffer begins.
     *
     * @return a power of two with a unit, {@code "1B"} to {@code "1GiB"}; empty for the size of a page
     */
    String alignment() default "";

    /**
     * Choose the NUMA node that holds the buffer's pages (mbind(2), MPOL_BIND).
     *
     * @return the number of a node that this machine has, at least 0; -1 for where the kernel puts them
     */
    int numaNode() default -1;
}
