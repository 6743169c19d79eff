package io.rdmatest.junit.condition;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Run a test, or the tests of a class, only if this process is allowed what it needs; elsewhere they are skipped with a
 * reason that begins with {@code not permitted}. Needs no device.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(RequiresPrivilegeCondition.class)
public @interface RequiresPrivilege {

    /**
     * List the privileges.
     *
     * @return what the process must have, all of it; may be empty
     */
    Privilege[] value() default {};

    /**
     * Demand that memory can be locked, as memory regions need.
     *
     * @return the least limit ({@code ulimit -l}), a size such as {@code "64MiB"}; empty for any. A process with
     *     {@link Privilege#CAP_IPC_LOCK} has no limit
     */
    String lockedMemory() default "";
}
