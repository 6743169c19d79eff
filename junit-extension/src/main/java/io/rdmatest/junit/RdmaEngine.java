package io.rdmatest.junit;

import java.lang.reflect.Executable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor.Invocation;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * The machinery behind {@link RdmaTestExtension}, which finds it with a {@link java.util.ServiceLoader}. The module has the one
 * implementation and does not export it. Tests do not call it.
 */
public interface RdmaEngine
        extends ExecutionCondition,
                BeforeAllCallback,
                BeforeClassTemplateInvocationCallback,
                AfterClassTemplateInvocationCallback,
                BeforeEachCallback,
                BeforeTestExecutionCallback,
                AfterTestExecutionCallback,
                AfterEachCallback,
                ParameterResolver {

    /**
     * Run a piece of a test within its time limit, and judge its failure.
     *
     * @param invocation the piece; never null
     * @param what the name of the piece, for messages
     * @param executable the constructor or lifecycle method, which may have a time limit of its own; null for the test itself
     * @param context the context of the piece; never null
     * @param test whether the known deviations of a test apply
     * @param <T> the type of the value
     * @return the value of the piece
     * @throws Throwable the failure of the piece, after judgement
     */
    <T extends @Nullable Object> T run(
            Invocation<T> invocation,
            String what,
            @Nullable Executable executable,
            ExtensionContext context,
            boolean test)
            throws Throwable;

    /**
     * Judge a failure, and publish its cause and evidence.
     *
     * @param thrown the failure; never null
     * @param what the name of the piece of the test, for messages
     * @param context the context of the piece; never null
     * @param test whether the known deviations of a test apply
     * @return the exception to throw
     */
    Throwable judge(Throwable thrown, String what, ExtensionContext context, boolean test);

    /**
     * Take note that the body of a test passed.
     *
     * @param context the context of the test; never null
     */
    void passed(ExtensionContext context);

    /**
     * Get the resources of the test or lifecycle method that the calling thread is in.
     *
     * @return the resources; never null
     * @throws IllegalStateException if the calling thread is in none
     */
    RdmaResources resources();

    /**
     * Get the reporter of the test that the calling thread is in.
     *
     * @return the reporter; never null
     * @throws IllegalStateException if the calling thread is in none
     */
    RdmaReport report();
}
