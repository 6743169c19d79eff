package io.rdmatest.junit.engine;

import io.rdmatest.Ledger;
import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaExtension;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTestPlugin;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
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
import org.junit.platform.commons.support.AnnotationSupport;
import org.opentest4j.TestAbortedException;

/** Does the work of {@link RdmaExtension}, for the annotations and for a field alike. */
public final class TestExtension extends RdmaExtension
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

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(TestExtension.class);

    private final Settings settings;

    /** For {@code @ExtendWith}. */
    public TestExtension() {
        this(Settings.NONE);
    }

    public TestExtension(Settings settings) {
        this.settings = settings;
    }

    Settings settings() {
        return settings;
    }

    /** An annotation and a field may both register the extension for one test: one of the two does the work. */
    private boolean isIdle(ExtensionContext context) {
        record Worker() {}
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(new Worker(), ignored -> this, TestExtension.class)
                != this;
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        if (isIdle(context)) {
            return ConditionEvaluationResult.enabled("asked elsewhere");
        }
        // A thread of JUnit's pool acts for the test that started it until something changes that, and providers of
        // arguments and other extensions' beforeAll come before any other callback of this one.
        Life.of(context).actToTheEnd();
        setUp(context).ifPresent(TimeLimit.Running::end);
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
                .orElseGet(() -> ConditionEvaluationResult.enabled("no skip condition applies"));
    }

    /** Constructor parameters then belong to the test, not to the class, unless the instance does. */
    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext rootContext) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        if (isIdle(context)) {
            return;
        }
        // A device that is not there fails each test, by name; here it would fail a class without tests.
        RunDevice device = RunDevice.of(context);
        if (device.failure().isEmpty()) {
            publishEnvironment(device, context);
        }
        beginAudit(context);
        if (device.failure().isEmpty()) {
            fill("@Provided static fields of ", context, () -> ProvidedFields.fillStatic(context));
        }
        Plugins.before(context, RdmaTestPlugin::beforeAll);
    }

    /**
     * Limits the set-up of an argument set of a parameterized class. No interceptor stands around its methods: they run after
     * this callback, and before a test of the set is asked for its conditions.
     */
    @Override
    public void beforeClassTemplateInvocation(ExtensionContext context) {
        if (isIdle(context) || Configuration.of(context).timeoutsOff()) {
            return;
        }
        String what = "set-up of " + context.getDisplayName();
        Watch watch = Watch.over(context);
        Life life = Life.of(context);
        TimeLimit.Running running = Life.ofRun(context)
                .provide(TimeLimit.class, TimeLimit.class, TimeLimit::new)
                .start(
                        what,
                        Configuration.of(context).timeout(),
                        () -> watch.expired(what),
                        () -> Diagnosis.flush(life.live()));
        context.getStore(NAMESPACE).put(TimeLimit.Running.class, running);
    }

    /** Stores look into the stores of enclosing contexts as well: a test finds what its argument set has. */
    private static Optional<TimeLimit.Running> setUp(ExtensionContext context) {
        return Optional.ofNullable(context.getStore(NAMESPACE).get(TimeLimit.Running.class, TimeLimit.Running.class));
    }

    @Override
    public void afterClassTemplateInvocation(ExtensionContext context) {
        if (isIdle(context)) {
            return;
        }
        Optional<TestFaultError> late = setUp(context).flatMap(TimeLimit.Running::end);
        if (late.isPresent()) {
            Verdict.publishCause(context, late.get());
            throw late.get();
        }
        context.getExecutionException().ifPresent(Watch.over(context)::failedElsewhere);
    }

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        if (isIdle(context)) {
            return;
        }
        // An extension that is registered in a field of the instance is not asked for its condition.
        Life.of(context).actToTheEnd();
        Configuration configuration = Configuration.of(context);
        configuration.timeout();
        RunDevice device = RunDevice.of(context);
        if (configuration.requireDevice()) {
            RunDevice.checkAnnotation(context);
            device.require();
        }
        if (device.failure().isEmpty()) {
            publishEnvironment(device, context);
            context.publishReportEntry(ReportKeys.DEVICE, device.name());
        }
        beginAudit(context);
        Watch ignored = Watch.over(context);
        Outcome.beforeEach(context);
        fill("@Provided fields of ", context, () -> {
            ProvidedFields.fillStatic(context);
            ProvidedFields.fillInstances(context);
        });
        Plugins.before(context, RdmaTestPlugin::beforeEach);
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            Plugins.before(context, RdmaTestPlugin::beforeTestExecution);
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) throws Exception {
        if (!isIdle(context)) {
            Plugins.after(context, RdmaTestPlugin::afterTestExecution);
        }
    }

    /** Bounds and judges what fields ask for as if the test's body did. */
    private static void fill(String what, ExtensionContext context, Runnable work) {
        unchecked(() -> bound(
                () -> {
                    work.run();
                    return null;
                },
                what + context.getDisplayName(),
                Configuration.of(context).timeout(),
                context,
                context.getTestMethod().isPresent()));
    }

    /** What is provisioned throws no checked exceptions. */
    private static <T extends @Nullable Object> T unchecked(Invocation<T> work) {
        try {
            return work.proceed();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static void beginAudit(ExtensionContext context) {
        Life life = Life.of(context);
        if (Configuration.of(context).auditKernel()) {
            life.beginKernelAudit();
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        if (!isIdle(context)) {
            Watch watch = Watch.over(context);
            context.getExecutionException().ifPresent(watch::failedElsewhere);
            watch.judgeCounters();
        }
    }

    /** Once per class; a plain class with an annotated method has no {@code beforeAll} of this extension. */
    private static void publishEnvironment(RunDevice device, ExtensionContext context) {
        record Published() {}
        Life.ofClass(context).provide(Published.class, Published.class, () -> {
            Map<String, String> entry = new LinkedHashMap<>();
            device.environment().forEach((key, value) -> entry.put(ReportKeys.ENVIRONMENT_PREFIX + key, value));
            if (!entry.isEmpty()) {
                context.publishReportEntry(entry);
            }
            return new Published();
        });
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return !isIdle(context)
                && (parameter.getParameter().getType() == RdmaReport.class
                        || Provision.supports(site(parameter))
                        || AnnotationSupport.isAnnotated(parameter.getParameter(), ParameterSource.class)
                        || Plugins.of(parameter.getParameter().getType()).isPresent())
                && !Taken.is(parameter, context);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (AnnotationSupport.isAnnotated(parameter.getParameter(), ParameterSource.class)) {
            throw new ParameterResolutionException("the source of "
                    + site(parameter).where()
                    + " makes several tests of one: declare it with @RdmaParameterizedTest instead of @RdmaTest");
        }
        if (parameter.getParameter().getType() == RdmaReport.class) {
            return report(context);
        }
        Class<?> type = parameter.getParameter().getType();
        Optional<RdmaTestPlugin> plugin = Plugins.of(type);
        if (plugin.isPresent()) {
            return plugin.get().resolve(type, context);
        }
        Site site = site(parameter);
        // JUnit wraps what this throws and hands it to the handlers below, which judge it.
        return unchecked(() -> limited(
                () -> new Provision(site, context).resolve(),
                "injection of " + site.where(),
                Configuration.of(context).timeout(),
                Watch.over(context),
                context));
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
                ? judged(thrown, what, context, test)
                : thrown;
    }

    private static Site site(ParameterContext parameter) {
        return Site.of(parameter.getDeclaringExecutable(), parameter.getIndex());
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
            Outcome.passed(context);
        }
    }

    private <T extends @Nullable Object> T run(
            Invocation<T> invocation,
            String what,
            @Nullable AnnotatedElement method,
            ExtensionContext context,
            boolean test)
            throws Throwable {
        if (isIdle(context)) {
            return invocation.proceed();
        }
        Configuration configuration = Configuration.of(context);
        TimeLimit.Limit limit = method == null ? configuration.timeout() : configuration.timeout(method);
        try (CurrentContext ignored = CurrentContext.enter(context)) {
            return bound(invocation, what, limit, context, test);
        }
    }

    private static <T extends @Nullable Object> T bound(
            Invocation<T> invocation, String what, TimeLimit.Limit limit, ExtensionContext context, boolean test)
            throws Throwable {
        // It begins here, before the first failure.
        Watch watch = Watch.over(context);
        try (Ledger.Acting ignored = Life.of(context).act()) {
            return limited(invocation, what, limit, watch, context);
        } catch (Throwable e) {
            throw judged(e, what, context, test);
        }
    }

    private static <T extends @Nullable Object> T limited(
            Invocation<T> invocation, String what, TimeLimit.Limit limit, Watch watch, ExtensionContext context)
            throws Throwable {
        if (Configuration.of(context).timeoutsOff()) {
            return invocation.proceed();
        }
        Life life = Life.of(context);
        return Life.ofRun(context)
                .provide(TimeLimit.class, TimeLimit.class, TimeLimit::new)
                .bound(invocation, what, limit, () -> watch.expired(what), () -> Diagnosis.flush(life.live()));
    }

    /**
     * Decides what a failure means, and publishes what there is to know of it.
     *
     * @param test whether the deviations that are known of a test apply
     * @return what has to be thrown
     */
    private static Throwable judged(Throwable thrown, String what, ExtensionContext context, boolean test) {
        if (Verdict.cause(thrown) instanceof TestAbortedException aborted) {
            return Outcome.aborted(aborted, context);
        }
        Throwable failure = Watch.over(context).failed(what, thrown);
        Throwable outcome = test ? Outcome.failed(failure, context) : failure;
        if (!(outcome instanceof TestAbortedException)) {
            Verdict.publishCause(context, outcome);
        }
        return outcome;
    }

    @Override
    public RdmaResources resources() {
        return Resources.of(CurrentContext.require());
    }

    @Override
    public RdmaReport report() {
        return report(CurrentContext.require());
    }
}
