package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Declare that a test, or all tests of a class, may leave failed work behind on queues that were provided to them: completions
 * with an error status that nobody polled, queue pairs in ERR, completion queues that overran, and asynchronous errors. Without
 * it such a test does not pass, even if it noticed nothing itself.
 *
 * @see RdmaConfiguration#AUDIT
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface IgnoreCompletions {}
