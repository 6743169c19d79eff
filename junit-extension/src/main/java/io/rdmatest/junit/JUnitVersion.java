package io.rdmatest.junit;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * Refuses a JUnit that is too old, in one sentence. An annotation names it before the other extensions: JUnit creates it before
 * it loads those, whose interfaces an old JUnit lacks.
 */
public final class JUnitVersion implements Extension {

    /**
     * Check the JUnit of this class loader.
     *
     * @throws ExtensionConfigurationException if it is older than 5.14
     */
    public JUnitVersion() {
        check("junit-jupiter-api", Test.class, "org.junit.jupiter.api.MediaType");
        check("junit-jupiter-params", ParameterizedTest.class, "org.junit.jupiter.params.ParameterInfo");
    }

    private static void check(String artifact, Class<?> old, String cameWith514) {
        try {
            Class<?> ignored = Class.forName(cameWith514, false, JUnitVersion.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            String version = Optional.ofNullable(old.getModule().getDescriptor())
                    .flatMap(module -> module.rawVersion())
                    .or(() -> Optional.ofNullable(old.getPackage().getImplementationVersion()))
                    .orElse("of an older version");
            throw new ExtensionConfigurationException(
                    "rdmatest needs JUnit 5.14 or later, and " + artifact + " " + version
                            + " is on the class path: import org.junit:junit-bom 5.14 or later before all other BOMs, or set the"
                            + " property junit-jupiter.version under the parent of Spring Boot");
        }
    }
}
