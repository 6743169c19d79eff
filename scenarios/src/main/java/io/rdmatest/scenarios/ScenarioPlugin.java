package io.rdmatest.scenarios;

import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.junit.RdmaTestPlugin;
import io.rdmatest.scenarios.node.Place;
import java.lang.reflect.Executable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/**
 * Resolves {@link ScenarioSettings}, the {@link Stage} and the {@link Wire} from the configuration of the run, has the wire
 * between nodes watched if that asks for it, and the counters judged of the devices that the other nodes of a test's stage have.
 */
public final class ScenarioPlugin implements RdmaTestPlugin {

    /** Creates the plug-in; the service loader does. */
    public ScenarioPlugin() {}

    private static final Namespace NAMESPACE = Namespace.create(ScenarioPlugin.class);

    private static final Set<Class<?>> TYPES =
            Set.of(ScenarioSettings.class, Nodes.class, Stage.class, Wire.class, CountersThere.class);

    /** Whether a class has a member that takes one of these; others are tests of one device. */
    private static final ClassValue<Boolean> TAKING = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return parameterTypes(type).anyMatch(TYPES::contains);
        }
    };

    private static final String FAILED_WARM_UP = "failed warm-up";

    private record Key(String fabric, String rail, String device) {}

    /** What is done at the end, without an exception that would have to be declared. */
    @FunctionalInterface
    private interface Ending extends AutoCloseable {
        @Override
        void close();
    }

    /** The nodes of the two sides of a stage; null where the fabric chooses. */
    record Pair(@Nullable String server, @Nullable String client) {}

    /** Other nodes are started before the first test, whose time limit is not for that. */
    @Override
    public void beforeAll(ExtensionContext context) {
        if (!needsStage(context.getRequiredTestClass())) {
            return;
        }
        try {
            Nodes nodes = nodes(context);
            if (!nodes.isOne()) {
                Stage stage = stage(context, nodes);
                Map<String, String> facts = new LinkedHashMap<>();
                describe(facts, "server", stage.server());
                describe(facts, "client", stage.client());
                context.publishReportEntry(facts);
                warmUp(context, nodes, stage);
            }
        } catch (RuntimeException | AssertionError e) {
            // Whatever it is, the tests say it, one by one: a class that fails has no results.
            return;
        }
    }

    /** Tests of all nodes start them themselves: two of them that can't reach each other are one finding among others. */
    private static boolean needsStage(Class<?> tests) {
        return parameterTypes(tests).anyMatch(Stage.class::equals);
    }

    private static Stream<Class<?>> parameterTypes(Class<?> tests) {
        return Stream.concat(
                        ReflectionSupport.findMethods(tests, method -> true, HierarchyTraversalMode.TOP_DOWN).stream(),
                        Stream.of(tests.getDeclaredConstructors()))
                .map(Executable::getParameterTypes)
                .flatMap(Stream::of);
    }

    private static boolean isOfScenario(ExtensionContext context) {
        return Stream.<Class<?>>iterate(context.getRequiredTestClass(), Objects::nonNull, Class::getEnclosingClass)
                .anyMatch(TAKING::get);
    }

    /** It is not repeated; so its failure, the first of this fabric, is that of the test which would have met it otherwise. */
    private static void warmUp(ExtensionContext context, Nodes nodes, Stage stage) {
        try {
            nodes.warmUp(stage);
        } catch (RuntimeException | AssertionError e) {
            context.getStore(NAMESPACE).put(FAILED_WARM_UP, new AtomicReference<Throwable>(e));
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        AtomicReference<?> failure = context.getStore(NAMESPACE).get(FAILED_WARM_UP, AtomicReference.class);
        Object told = failure == null ? null : failure.getAndSet(null);
        // As it is: its type decides whether the fabric failed, or what the harness needs.
        if (told instanceof Error error) {
            throw error;
        }
        if (told instanceof RuntimeException exception) {
            throw exception;
        }
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) {
        if (isOfScenario(context)
                && ScenarioSettings.read(context::getConfigurationParameter).wire()) {
            Nodes nodes = nodes(context);
            if (!nodes.isOne()) {
                WireWatch.begin(context, stage(context, nodes));
            }
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        // Whichever of them fails first has the other one's failure with it.
        try (Ending wire = () -> WireWatch.end(context)) {
            CountersThere.end(context);
        }
    }

    private static void describe(Map<String, String> facts, String side, Place place) {
        Map<String, String> environment = place.facts().environment();
        facts.put(
                ReportKeys.ENVIRONMENT_PREFIX + side,
                "%s: %s, device %s port %s, GID %s, address %s, kernel %s"
                        .formatted(
                                place.name(),
                                environment.get("host"),
                                environment.get("device"),
                                environment.get("port"),
                                environment.get("gidValue"),
                                environment.get("address"),
                                environment.get("kernel")));
    }

    @Override
    public boolean supports(Class<?> type) {
        return TYPES.contains(type);
    }

    @Override
    public Object resolve(Class<?> type, ExtensionContext context) {
        if (type == ScenarioSettings.class) {
            return ScenarioSettings.read(context::getConfigurationParameter);
        }
        if (type == Wire.class) {
            return WireWatch.wire(context);
        }
        if (type == CountersThere.class) {
            return CountersThere.of(context);
        }
        Nodes nodes = nodes(context);
        if (type == Nodes.class) {
            return nodes;
        }
        Stage stage = stage(context, nodes);
        if (!nodes.isOne()) {
            publish(context, "server", stage.server());
            publish(context, "client", stage.client());
            CountersThere.begin(context, stage);
        }
        return stage;
    }

    private static void publish(ExtensionContext context, String side, Place place) {
        context.publishReportEntry(Map.of(ReportKeys.PARAMETER, side, ReportKeys.VALUE, "node " + place.name()));
    }

    /** Has the test of a context, and what is below it, run on a pair of nodes instead of the configured one. */
    static void choose(ExtensionContext context, Pair pair) {
        context.getStore(NAMESPACE).put(Pair.class, pair);
    }

    private static Stage stage(ExtensionContext context, Nodes nodes) {
        Pair chosen = context.getStore(NAMESPACE).get(Pair.class, Pair.class);
        Pair pair = chosen != null
                ? chosen
                : new Pair(configured(context, Stage.SERVER), configured(context, Stage.CLIENT));
        return nodes.stage(pair.server(), pair.client());
    }

    private static @Nullable String configured(ExtensionContext context, String key) {
        return context.getConfigurationParameter(key).orElse(null);
    }

    static Nodes nodes(ExtensionContext context) {
        Optional<String> fabric = context.getConfigurationParameter(FabricConfiguration.FABRIC);
        Key key = new Key(
                fabric.orElse(FabricConfiguration.DEFAULT_FABRIC),
                context.getConfigurationParameter(FabricConfiguration.RAIL).orElse(""),
                context.getConfigurationParameter(FabricConfiguration.DEVICE).orElse(""));
        return context.getRoot().getStore(NAMESPACE).getOrComputeIfAbsent(key, ScenarioPlugin::open, Nodes.class);
    }

    private static Nodes open(Key key) {
        return new Nodes(Fabric.load(key.fabric(), key.rail(), key.device()));
    }
}
