package io.rdmatest.junit.engine;

import io.rdmatest.Ledger;
import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaEngine;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.RdmaTestPlugin;
import java.lang.annotation.Annotation;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor.Invocation;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.platform.commons.support.AnnotationSupport;
import org.opentest4j.TestAbortedException;

/** Does the work of the extension. */
public final class Engine implements RdmaEngine {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Engine.class);

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
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

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
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
        if (Configuration.of(context).timeoutsOff()) {
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
        Optional<TestFaultError> late = setUp(context).flatMap(TimeLimit.Running::end);
        if (late.isPresent()) {
            Verdict.publishCause(context, late.get());
            throw late.get();
        }
        context.getExecutionException().ifPresent(Watch.over(context)::failedElsewhere);
    }

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        // An extension that is registered in a field of the instance is not asked for its condition.
        Life.of(context).actToTheEnd();
        context.getTestMethod().ifPresent(Engine::refuseTwoKindsOfTest);
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

    /** JUnit would run the method once for each of its annotations that make a test of it. */
    private static void refuseTwoKindsOfTest(Method method) {
        if (!AnnotationSupport.isAnnotated(method, RdmaTest.class)) {
            return;
        }
        for (Annotation annotation : method.getAnnotations()) {
            Class<? extends Annotation> type = annotation.annotationType();
            if (Stream.of(TestTemplate.class, TestFactory.class)
                    .anyMatch(kind -> type == kind || AnnotationSupport.isAnnotated(type, kind))) {
                throw new ExtensionConfigurationException("@RdmaTest on method "
                        + method.getDeclaringClass().getSimpleName() + "." + method.getName()
                        + " is a @Test of its own, beside @" + type.getSimpleName()
                        + ": put @RdmaTest on the class instead");
            }
        }
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) throws Exception {
        Plugins.before(context, RdmaTestPlugin::beforeTestExecution);
    }

    @Override
    public void afterTestExecution(ExtensionContext context) throws Exception {
        Plugins.after(context, RdmaTestPlugin::afterTestExecution);
    }

    /** Bounds and judges what fields ask for as if the test's body did. */
    private void fill(String what, ExtensionContext context, Runnable work) {
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
        Watch watch = Watch.over(context);
        context.getExecutionException().ifPresent(watch::failedElsewhere);
        watch.judgeCounters();
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
        return (parameter.getParameter().getType() == RdmaReport.class
                        || Provision.supports(site(parameter))
                        || AnnotationSupport.isAnnotated(parameter.getParameter(), ParameterSource.class)
                        || Plugins.of(parameter.getParameter().getType()).isPresent())
                && !Qualifiers.areOfOthers(parameter.getParameter())
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

    private static Site site(ParameterContext parameter) {
        return Site.of(parameter.getDeclaringExecutable(), parameter.getIndex());
    }

    private static RdmaReport report(ExtensionContext context) {
        return new RdmaReport(context::publishReportEntry);
    }

    @Override
    public <T extends @Nullable Object> T run(
            Invocation<T> invocation,
            String what,
            @Nullable Executable executable,
            ExtensionContext context,
            boolean test)
            throws Throwable {
        if (executable instanceof Constructor) {
            beginAudit(context);
        }
        Configuration configuration = Configuration.of(context);
        TimeLimit.Limit limit = executable == null ? configuration.timeout() : configuration.timeout(executable);
        try (CurrentContext ignored = CurrentContext.enter(context)) {
            return bound(invocation, what, limit, context, test);
        }
    }

    private <T extends @Nullable Object> T bound(
            Invocation<T> invocation, String what, TimeLimit.Limit limit, ExtensionContext context, boolean test)
            throws Throwable {
        // It begins here, before the first failure.
        Watch watch = Watch.over(context);
        try (Ledger.Acting ignored = Life.of(context).act()) {
            return limited(invocation, what, limit, watch, context);
        } catch (Throwable e) {
            throw judge(e, what, context, test);
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

    @Override
    public void passed(ExtensionContext context) {
        Outcome.passed(context);
    }

    @Override
    public Throwable judge(Throwable thrown, String what, ExtensionContext context, boolean test) {
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
