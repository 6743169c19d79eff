package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Describe the completion queue of a {@code CompletionQueue} parameter. Without it: 64 entries, no events. */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface CompletionQueueSpec {

    /**
     * Size the queue.
     *
     * @return the least number of completions it holds, at least 1
     */
    int entries() default 64;

    /**
     * Bind the queue to the completion channel of the test, the one that a {@code CompletionChannel} parameter gets.
     *
     * @return whether completions can be awaited as events
     */
    boolean events() default false;
}
