package io.rdmatest.junit;

import io.rdmatest.Ledger;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
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
import org.opentest4j.TestAbortedException;

/**
 * The extension behind {@link RdmaTest @RdmaTest}, and its programmatic form: a field of this type does all that the
 * annotations do, with or without them beside it.
 *
 * {@snippet :
 * class WriteTest {
 *
 *     @RegisterExtension
 *     static final RdmaExtension rdma = RdmaExtension.builder().device("rxe0").timeout(Duration.ofSeconds(20)).build();
 *
 *     @Test
 *     void arrives() {
 *         Connection connection = rdma.connection();
 *         MemoryRegion target = rdma.memory(1 << 20);
 *     }
 * }
 * }
 *
 * <p>What it hands out lives as long as what asks for it: in a test or {@code @BeforeEach} method as long as the test, in a
 * dynamic test as long as that, in a {@code @BeforeAll} method as long as the class; {@link #in(ResourceScope)} chooses. A
 * static field serves the whole class and its {@code @Nested} classes; an instance field serves each test.
 *
 * <p>A setting is looked for in this order: annotation of the parameter, method, class, enclosing class; builder of an
 * instance field, of a static field, of one of an enclosing class; configuration parameter, system property,
 * {@code junit-platform.properties}; default.
 */
public final class RdmaExtension
        implements ExecutionCondition,
                BeforeAllCallback,
                BeforeEachCallback,
                BeforeTestExecutionCallback,
                AfterTestExecutionCallback,
                AfterEachCallback,
                ParameterResolver,
                InvocationInterceptor,
                TestExecutionExceptionHandler,
                LifecycleMethodExecutionExceptionHandler {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(RdmaExtension.class);

    private final Settings settings;

    /** For {@code @ExtendWith}. */
    RdmaExtension() {
        this(Settings.NONE);
    }

    private RdmaExtension(Settings settings) {
        this.settings = settings;
    }

    /**
     * Begin to describe an extension for a field with {@code @RegisterExtension}.
     *
     * @return the builder; never null
     */
    public static Builder builder() {
        return new Builder();
    }

    Settings settings() {
        return settings;
    }

    /** An annotation and a field may both register the extension for one test: one of the two does the work. */
    private boolean isIdle(ExtensionContext context) {
        record Worker() {}
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(new Worker(), ignored -> this, RdmaExtension.class)
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
            report(context).device(device.name());
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
            Watch.over(context).judgeCounters();
        }
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
        return !isIdle(context)
                && (parameter.getParameter().getType() == RdmaReport.class
                        || Provision.supports(site(parameter))
                        || Source.isOn(parameter.getParameter())
                        || Plugins.of(parameter.getParameter().getType()).isPresent())
                && !Taken.is(parameter, context);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (Source.isOn(parameter.getParameter())) {
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
            ReportKeys.publishCause(context, outcome);
        }
        return outcome;
    }

    /**
     * Get the resources of the test or lifecycle method that the calling thread is in; other threads of the test may use
     * them.
     *
     * @return the resources; never null
     * @throws IllegalStateException if the calling thread is in none
     */
    public RdmaResources resources() {
        return RdmaResources.of(CurrentContext.require());
    }

    /**
     * Take resources from another device: {@link RdmaResources#onDevice(String)}.
     *
     * @param name what {@link OnDevice#value()} says; never null
     * @return the resources; never null
     */
    public RdmaResources onDevice(String name) {
        return resources().onDevice(name);
    }

    /**
     * Take resources from a node's device: {@link RdmaResources#onNode(String)}.
     *
     * @param name what {@link OnDevice#node()} says; never null
     * @return the resources; never null
     */
    public RdmaResources onNode(String name) {
        return resources().onNode(name);
    }

    /**
     * Let resources live as long as another scope: {@link RdmaResources#in(ResourceScope)}.
     *
     * @param scope the scope; never null
     * @return the resources; never null
     */
    public RdmaResources in(ResourceScope scope) {
        return resources().in(scope);
    }

    /**
     * Get the device: {@link RdmaResources#device()}.
     *
     * @return the device; never null
     */
    public FabricDevice device() {
        return resources().device();
    }

    /**
     * Open a connection: {@link RdmaResources#connection()}.
     *
     * @return the connection; never null
     */
    public Connection connection() {
        return resources().connection();
    }

    /**
     * Open a connection: {@link RdmaResources#connection(ConnectionOptions)}.
     *
     * @param options what it is like; never null
     * @return the connection; never null
     */
    public Connection connection(ConnectionOptions options) {
        return resources().connection(options);
    }

    /**
     * Register memory: {@link RdmaResources#memory(long, Access...)}.
     *
     * @param size bytes, at least 1
     * @param access the access flags; none for all
     * @return the memory region; never null
     */
    public MemoryRegion memory(long size, Access... access) {
        return resources().memory(size, access);
    }

    /**
     * Register memory where it is wanted: {@link RdmaResources#memory(long, MemoryPlacement, Access...)}.
     *
     * @param size bytes, at least 1
     * @param placement where it lies; never null
     * @param access the access flags; none for all
     * @return the memory region; never null
     */
    public MemoryRegion memory(long size, MemoryPlacement placement, Access... access) {
        return resources().memory(size, placement, access);
    }

    /**
     * Create a queue pair: {@link RdmaResources#queuePair(QueuePairOptions)}.
     *
     * @param options what it is like; never null
     * @return the queue pair; never null
     */
    public QueuePair queuePair(QueuePairOptions options) {
        return resources().queuePair(options);
    }

    /**
     * Create a completion queue: {@link RdmaResources#completionQueue(int, boolean)}.
     *
     * @param entries the least number of completions it holds, at least 1
     * @param events whether completions can be awaited as events
     * @return the queue; never null
     */
    public CompletionQueue completionQueue(int entries, boolean events) {
        return resources().completionQueue(entries, events);
    }

    /**
     * Create a shared receive queue: {@link RdmaResources#sharedReceiveQueue(int, int)}.
     *
     * @param maxWr the most outstanding receives, at least 1
     * @param maxSge the most segments of one receive, at least 1
     * @return the queue; never null
     */
    public SharedReceiveQueue sharedReceiveQueue(int maxWr, int maxSge) {
        return resources().sharedReceiveQueue(maxWr, maxSge);
    }

    /**
     * Create an rdma_cm id: {@link RdmaResources#id(PortSpace)}.
     *
     * @param portSpace its port space; never null
     * @return the id; never null
     */
    public CmId id(PortSpace portSpace) {
        return resources().id(portSpace);
    }

    /**
     * Get the protection domain of the scope: {@link RdmaResources#protectionDomain()}.
     *
     * @return the protection domain; never null
     */
    public ProtectionDomain protectionDomain() {
        return resources().protectionDomain();
    }

    /**
     * Get the reporter of the test that the calling thread is in.
     *
     * @return the reporter; never null
     */
    public RdmaReport report() {
        return report(CurrentContext.require());
    }

    /** Describes an extension. Every method checks its argument and returns the builder. */
    public static final class Builder {

        private final Map<String, String> values = new HashMap<>();
        private @Nullable Selection selection;
        private @Nullable ConnectionOptions connections;

        private Builder() {}

        /**
         * Run on a device, as {@link OnDevice @OnDevice} does.
         *
         * @param name the device, such as {@code rxe0} or {@code mlx5_0/2}; not blank
         * @return this builder
         */
        public Builder device(String name) {
            selection = Selection.device(text("device", name));
            return this;
        }

        /**
         * Run on the device of a node, as {@link OnDevice#node()} does.
         *
         * @param name the node; not blank
         * @return this builder
         */
        public Builder node(String name) {
            selection = Selection.node(text("node", name));
            return this;
        }

        /**
         * Run on a fabric, as {@value FabricConfiguration#FABRIC} does.
         *
         * @param nameOrPath the fabric; not blank
         * @return this builder
         */
        public Builder fabric(String nameOrPath) {
            return configuration(FabricConfiguration.FABRIC, text("fabric", nameOrPath));
        }

        /**
         * Bound each test and lifecycle method in time, as {@link RdmaTest#timeout()} does.
         *
         * @param limit more than nothing and at most 24 h
         * @return this builder
         * @throws IllegalArgumentException out of this range
         */
        public Builder timeout(Duration limit) {
            return configuration(
                    RdmaConfiguration.TIMEOUT,
                    Quantity.duration(limit.toString()).toString());
        }

        /**
         * Choose how closely tests are checked for what they leave behind, as {@value RdmaConfiguration#AUDIT} does.
         *
         * @param level {@code ledger}, {@code kernel} or {@code off}
         * @return this builder
         */
        public Builder audit(String level) {
            return configuration(RdmaConfiguration.AUDIT, text("audit", level));
        }

        /**
         * Skip the tests where there is no device at all, as {@value RdmaConfiguration#SKIP_WITHOUT_DEVICE} does.
         *
         * @return this builder
         */
        public Builder skipWithoutDevice() {
            return configuration(RdmaConfiguration.SKIP_WITHOUT_DEVICE, "true");
        }

        /**
         * Describe the connections that are injected and opened without options of their own, as
         * {@link ConnectionSpec @ConnectionSpec} does.
         *
         * @param options what they are like; never null
         * @return this builder
         */
        public Builder connections(ConnectionOptions options) {
            connections = options;
            return this;
        }

        /**
         * Set any key of {@link RdmaConfiguration} for these tests. Other keys of the project, such as those of the scenarios
         * and their roles, are the run's: nothing but configuration parameters and system properties sets them.
         *
         * @param key one of its keys, {@code rdma.fabric}, {@code rdma.rail} or {@code rdma.device}
         * @param value its value
         * @return this builder
         * @throws IllegalArgumentException for another key
         */
        public Builder configuration(String key, String value) {
            if (!RdmaConfiguration.KEYS.contains(key)) {
                throw new IllegalArgumentException("\"" + key + "\" is no key that a builder can set; it can set "
                        + String.join(", ", new TreeSet<>(RdmaConfiguration.KEYS)));
            }
            values.put(key, text(key, value));
            return this;
        }

        private static String text(String what, String value) {
            if (value.isBlank()) {
                throw new IllegalArgumentException(what + " is blank");
            }
            return value.strip();
        }

        /**
         * Make the extension.
         *
         * @return the extension, for a field with {@code @RegisterExtension}; never null
         */
        public RdmaExtension build() {
            return new RdmaExtension(new Settings(Map.copyOf(values), selection, connections));
        }
    }
}
