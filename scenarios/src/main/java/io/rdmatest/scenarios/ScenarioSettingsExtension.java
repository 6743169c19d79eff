package io.rdmatest.scenarios;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Resolves {@link ScenarioSettings} from the configuration of the run. */
final class ScenarioSettingsExtension implements ParameterResolver {

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == ScenarioSettings.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return ScenarioSettings.read(context::getConfigurationParameter);
    }
}
