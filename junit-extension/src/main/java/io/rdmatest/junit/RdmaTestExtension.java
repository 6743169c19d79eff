package io.rdmatest.junit;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.DynamicTestInvocationContext;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;

/** The extension that the annotations register, and that a builder makes: it hands JUnit's callbacks to the {@link RdmaEngine}. */
public final class RdmaTestExtension extends RdmaExtension
        implements ExecutionCondition,
                BeforeAllCallback,
                BeforeClassTemplateInvocationCallback,
                AfterClassTemplateInvocationCallback,
                BeforeEachCallback,
                BeforeTestExecutionCallback,
                AfterTestExecutionCallback,
                AfterEachCallback,
                ParameterResolver,
                InvocationInterceptor,
                TestExecutionExceptionHandler,
                LifecycleMethodExecutionExceptionHandler {

    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(RdmaTestExtension.class);

    /** For {@code @ExtendWith}. */
    public RdmaTestExtension() {
        this(Settings.NONE);
    }

    RdmaTestExtension(Settings settings) {
        super(settings);
    }

    /** An annotation and a field may both register the extension for one test: one of the two does the work. */
    private boolean isIdle(ExtensionContext context) {
        record Worker() {}
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(new Worker(), ignored -> this, RdmaTestExtension.class)
                != this;
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return isIdle(context)
                ? ConditionEvaluationResult.enabled("asked elsewhere")
                : ENGINE.evaluateExecutionCondition(context);
    }

    /** Constructor parameters then belong to the test, not to the class, unless the instance does. */
    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext rootContext) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.beforeAll(context);
        }
    }

    @Override
    public void beforeClassTemplateInvocation(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.beforeClassTemplateInvocation(context);
        }
    }

    @Override
    public void afterClassTemplateInvocation(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.afterClassTemplateInvocation(context);
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.beforeEach(context);
        }
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.beforeTestExecution(context);
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.afterTestExecution(context);
        }
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            ENGINE.afterEach(context);
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return !isIdle(context) && ENGINE.supportsParameter(parameter, context);
    }

    @Override
    public @Nullable Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return ENGINE.resolveParameter(parameter, context);
    }

    /** What interceptors have seen is judged already; what fails while parameters are injected comes here first. */
    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable thrown) throws Throwable {
        throw injected(thrown, "parameters of " + context.getDisplayName(), context, true);
    }

    @Override
    public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable thrown) throws Throwable {
        throw injected(thrown, "parameters of @BeforeAll of " + context.getDisplayName(), context, false);
    }

    @Override
    public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable thrown) throws Throwable {
        throw injected(thrown, "parameters of @BeforeEach of " + context.getDisplayName(), context, true);
    }

    @Override
    public void handleAfterEachMethodExecutionException(ExtensionContext context, Throwable thrown) throws Throwable {
        throw injected(thrown, "parameters of @AfterEach of " + context.getDisplayName(), context, true);
    }

    @Override
    public void handleAfterAllMethodExecutionException(ExtensionContext context, Throwable thrown) throws Throwable {
        throw injected(thrown, "parameters of @AfterAll of " + context.getDisplayName(), context, false);
    }

    private Throwable injected(Throwable thrown, String what, ExtensionContext context, boolean test) {
        return thrown instanceof ParameterResolutionException && !isIdle(context)
                ? ENGINE.judge(thrown, what, context, test)
                : thrown;
    }

    @Override
    public <T> T interceptTestClassConstructor(
            Invocation<T> invocation,
            ReflectiveInvocationContext<Constructor<T>> invocationContext,
            ExtensionContext context)
            throws Throwable {
        return run(
                invocation,
                "constructor of " + context.getDisplayName(),
                invocationContext.getExecutable(),
                context,
                false);
    }

    @Override
    public void interceptBeforeAllMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@BeforeAll", invocationContext), invocationContext.getExecutable(), context, false);
    }

    @Override
    public void interceptBeforeEachMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@BeforeEach", invocationContext), invocationContext.getExecutable(), context, false);
    }

    @Override
    public void interceptAfterEachMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@AfterEach", invocationContext), invocationContext.getExecutable(), context, false);
    }

    @Override
    public void interceptAfterAllMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@AfterAll", invocationContext), invocationContext.getExecutable(), context, false);
    }

    @Override
    public void interceptTestMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        test(invocation, name("test", invocationContext), context);
    }

    @Override
    public void interceptTestTemplateMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        test(invocation, name("test", invocationContext) + " " + context.getDisplayName(), context);
    }

    @Override
    public <T> T interceptTestFactoryMethod(
            Invocation<T> invocation, ReflectiveInvocationContext<Method> invocationContext, ExtensionContext context)
            throws Throwable {
        return run(
                invocation, name("test factory", invocationContext), invocationContext.getExecutable(), context, true);
    }

    @Override
    public void interceptDynamicTest(
            Invocation<@Nullable Void> invocation,
            DynamicTestInvocationContext invocationContext,
            ExtensionContext context)
            throws Throwable {
        test(invocation, "test " + context.getDisplayName(), context);
    }

    private static String name(String role, ReflectiveInvocationContext<Method> invocation) {
        return role + " " + invocation.getTargetClass().getSimpleName() + "."
                + invocation.getExecutable().getName();
    }

    private void test(Invocation<@Nullable Void> invocation, String what, ExtensionContext context) throws Throwable {
        run(invocation, what, null, context, true);
        // Once: where both register the extension, one is around the other, and would take its verdict for the test's.
        if (!isIdle(context)) {
            ENGINE.passed(context);
        }
    }

    private <T extends @Nullable Object> T run(
            Invocation<T> invocation,
            String what,
            @Nullable Executable executable,
            ExtensionContext context,
            boolean test)
            throws Throwable {
        return isIdle(context) ? invocation.proceed() : ENGINE.run(invocation, what, executable, context, test);
    }
}
