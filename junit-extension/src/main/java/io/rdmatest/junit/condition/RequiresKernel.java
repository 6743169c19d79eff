package io.rdmatest.junit.condition;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Run a test, or the tests of a class, only on certain releases of the Linux kernel; on others they are skipped with a
 * reason that begins with {@code unsupported by the kernel}. Needs no device.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(RequiresKernelCondition.class)
public @interface RequiresKernel {

    /**
     * Give the first release.
     *
     * @return one to three numbers with dots, for example {@code "6.1"}; empty for any
     */
    String min() default "";

    /**
     * Give the last release.
     *
     * @return one to three numbers with dots; {@code "6.1"} includes 6.1.99; empty for any
     */
    String max() default "";
}
