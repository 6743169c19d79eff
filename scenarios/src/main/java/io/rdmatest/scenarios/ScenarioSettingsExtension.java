package io.rdmatest.scenarios;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.junit.ReportKeys;
import io.rdmatest.scenarios.role.Place;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Resolves {@link ScenarioSettings} and the {@link Stage} from the configuration of the run, and has the wire between nodes
 * watched if that asks for it.
 */
public final class ScenarioSettingsExtension
        implements BeforeAllCallback, BeforeTestExecutionCallback, AfterTestExecutionCallback, ParameterResolver {

    /** Creates the extension; JUnit does. */
    public ScenarioSettingsExtension() {}

    private static final Namespace NAMESPACE = Namespace.create(ScenarioSettingsExtension.class);

    private record Key(String fabric, String device) {}

    /** Other nodes are started before the first test, whose time limit is not for that. */
    @Override
    public void beforeAll(ExtensionContext context) {
        try {
            Nodes nodes = nodes(context);
            if (!nodes.isOne()) {
                Stage stage = stage(context, nodes);
                Map<String, String> facts = new LinkedHashMap<>();
                describe(facts, "server", stage.server());
                describe(facts, "client", stage.client());
                context.publishReportEntry(facts);
                nodes.warmUp(stage);
            }
        } catch (RuntimeException | AssertionError e) {
            // Whatever it is, the tests say it, one by one: a class that fails has no results.
            return;
        }
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) {
        if (ScenarioSettings.read(context::getConfigurationParameter).wire()) {
            Nodes nodes = nodes(context);
            if (!nodes.isOne()) {
                WireWatch.begin(context, stage(context, nodes));
            }
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        WireWatch.end(context);
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
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == ScenarioSettings.class || type == Nodes.class || type == Stage.class && !isOfPair(parameter);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (parameter.getParameter().getType() == ScenarioSettings.class) {
            return ScenarioSettings.read(context::getConfigurationParameter);
        }
        Nodes nodes = nodes(context);
        if (parameter.getParameter().getType() == Nodes.class) {
            return nodes;
        }
        Stage stage = stage(context, nodes);
        if (!nodes.isOne()) {
            publish(context, "server", stage.server());
            publish(context, "client", stage.client());
        }
        return stage;
    }

    /** The first parameter of a test for each pair comes from its source. */
    private static boolean isOfPair(ParameterContext parameter) {
        return parameter.getIndex() == 0
                && AnnotationSupport.isAnnotated(parameter.getDeclaringExecutable(), EachPair.class);
    }

    private static void publish(ExtensionContext context, String side, Place place) {
        context.publishReportEntry(Map.of(ReportKeys.PARAMETER, side, ReportKeys.VALUE, "node " + place.name()));
    }

    private static Stage stage(ExtensionContext context, Nodes nodes) {
        return nodes.stage(configured(context, Stage.SERVER), configured(context, Stage.CLIENT));
    }

    private static @Nullable String configured(ExtensionContext context, String key) {
        return context.getConfigurationParameter(key).orElse(null);
    }

    static Nodes nodes(ExtensionContext context) {
        Optional<String> fabric = context.getConfigurationParameter(FabricConfiguration.FABRIC);
        String device =
                context.getConfigurationParameter(FabricConfiguration.DEVICE).orElse("");
        Key key = new Key(fabric.orElse(FabricConfiguration.DEFAULT_FABRIC), device);
        return context.getRoot()
                .getStore(NAMESPACE)
                .getOrComputeIfAbsent(key, ScenarioSettingsExtension::open, Nodes.class);
    }

    private static Nodes open(Key key) {
        Fabric fabric = Fabric.load(key.fabric());
        return new Nodes(key.device().isEmpty() ? fabric : fabric.withDevice(key.device()));
    }
}
