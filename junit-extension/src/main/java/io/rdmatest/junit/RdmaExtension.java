package io.rdmatest.junit;

import io.rdmatest.Ledger;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.DynamicTestInvocationContext;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.opentest4j.TestAbortedException;

/** The extension behind {@link RdmaTest @RdmaTest}. */
final class RdmaExtension
        implements ExecutionCondition,
                BeforeAllCallback,
                BeforeEachCallback,
                AfterEachCallback,
                ParameterResolver,
                InvocationInterceptor {

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        Configuration configuration = Configuration.of(context);
        Optional<RuntimeException> absence = configuration.skipWithoutDevice() && configuration.skips() != Skips.FAIL
                ? RunDevice.of(context).absence()
                : Optional.empty();
        if (absence.isPresent()) {
            return SkipLog.disabled(
                    SkipReason.NOT_SELECTED,
                    RdmaConfiguration.SKIP_WITHOUT_DEVICE + "=true and "
                            + absence.get().getMessage(),
                    context);
        }
        return Outcome.condition(context)
                .orElseGet(() -> ConditionEvaluationResult.enabled("nothing speaks against it"));
    }

    /** Constructor parameters then belong to the test, not to the class, unless the instance does. */
    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext rootContext) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        // A device that is not there fails each test, by name; here it would fail a class without tests.
        RunDevice device = RunDevice.of(context);
        if (device.failure().isEmpty()) {
            publishEnvironment(device, context);
        }
        beginAudit(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        Life.of(context).actToTheEnd();
        Configuration configuration = Configuration.of(context);
        configuration.timeout();
        RunDevice device = RunDevice.of(context);
        if (configuration.requireDevice()) {
            device.require();
        }
        if (device.failure().isEmpty()) {
            publishEnvironment(device, context);
            report(context).device(device.name());
        }
        beginAudit(context);
        Watch ignored = Watch.over(context);
        Outcome.beforeEach(context);
    }

    private static void beginAudit(ExtensionContext context) {
        Life life = Life.of(context);
        if (Configuration.of(context).auditKernel()) {
            life.beginKernelAudit();
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Watch.over(context).judgeCounters();
    }

    /** Once per class; a plain class with an annotated method has no {@code beforeAll} of this extension. */
    private static void publishEnvironment(RunDevice device, ExtensionContext context) {
        record Published() {}
        Life.ofClass(context).provide(Published.class, Published.class, () -> {
            report(context).environment(device.environment());
            return new Published();
        });
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == RdmaReport.class || Provision.supports(parameter);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == RdmaReport.class
                ? report(context)
                : new Provision(parameter, context).resolve();
    }

    private static RdmaReport report(ExtensionContext context) {
        return new RdmaReport(context::publishReportEntry);
    }

    @Override
    public <T> T interceptTestClassConstructor(
            Invocation<T> invocation,
            ReflectiveInvocationContext<Constructor<T>> invocationContext,
            ExtensionContext context)
            throws Throwable {
        beginAudit(context);
        return run(invocation, "constructor of " + context.getDisplayName(), context, false);
    }

    @Override
    public void interceptBeforeAllMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@BeforeAll", invocationContext), context, false);
    }

    @Override
    public void interceptBeforeEachMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@BeforeEach", invocationContext), context, false);
    }

    @Override
    public void interceptAfterEachMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@AfterEach", invocationContext), context, false);
    }

    @Override
    public void interceptAfterAllMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("@AfterAll", invocationContext), context, false);
    }

    @Override
    public void interceptTestMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("test", invocationContext), context, true);
        Outcome.passed(context);
    }

    @Override
    public void interceptTestTemplateMethod(
            Invocation<@Nullable Void> invocation,
            ReflectiveInvocationContext<Method> invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, name("test", invocationContext) + " " + context.getDisplayName(), context, true);
        Outcome.passed(context);
    }

    @Override
    public <T> T interceptTestFactoryMethod(
            Invocation<T> invocation, ReflectiveInvocationContext<Method> invocationContext, ExtensionContext context)
            throws Throwable {
        return run(invocation, name("test factory", invocationContext), context, true);
    }

    @Override
    public void interceptDynamicTest(
            Invocation<@Nullable Void> invocation,
            DynamicTestInvocationContext invocationContext,
            ExtensionContext context)
            throws Throwable {
        run(invocation, "test " + context.getDisplayName(), context, true);
        Outcome.passed(context);
    }

    private static String name(String role, ReflectiveInvocationContext<Method> invocation) {
        return role + " " + invocation.getTargetClass().getSimpleName() + "."
                + invocation.getExecutable().getName();
    }

    private static <T extends @Nullable Object> T run(
            Invocation<T> invocation, String what, ExtensionContext context, boolean body) throws Throwable {
        Configuration configuration = Configuration.of(context);
        Life life = Life.of(context);
        Watch watch = Watch.over(context);
        TimeLimit limit = Life.ofRun(context).provide(TimeLimit.class, TimeLimit.class, TimeLimit::new);
        try (Ledger.Acting ignored = life.act()) {
            return limit.bound(
                    invocation,
                    what,
                    configuration.timeout(),
                    () -> watch.expired(what),
                    () -> Diagnosis.flush(life.live()));
        } catch (TestAbortedException e) {
            throw Outcome.aborted(e, context);
        } catch (Throwable e) {
            // A set-up that fails has not yet tested anything: it stays broken.
            Throwable failure = watch.failed(what, e, body);
            throw body ? Outcome.failed(failure, context) : failure;
        }
    }
}
