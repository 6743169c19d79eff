package io.rdmatest.junit;

import java.lang.reflect.AnnotatedElement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Reads the keys of {@link RdmaConfiguration} and refuses what it does not understand. */
record Configuration(ExtensionContext context) {

    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

    static Configuration of(ExtensionContext context) {
        return new Configuration(context);
    }

    /** Returns the bound of the nearest annotation that sets one, else of the configuration. */
    Duration timeout() {
        Optional<ExtensionContext> current = Optional.of(context);
        while (current.isPresent()) {
            Optional<String> annotated = current.get().getElement().flatMap(Configuration::timeoutOn);
            if (annotated.isPresent()) {
                try {
                    return Quantity.duration(annotated.get());
                } catch (IllegalArgumentException e) {
                    throw new ExtensionConfigurationException(
                            "@RdmaTest(timeout) on "
                                    + current.get().getElement().get() + ": " + e.getMessage(),
                            e);
                }
            }
            current = current.get().getParent();
        }
        return value(RdmaConfiguration.TIMEOUT)
                .map(text -> {
                    try {
                        return Quantity.duration(text);
                    } catch (IllegalArgumentException e) {
                        throw new ExtensionConfigurationException(RdmaConfiguration.TIMEOUT + ": " + e.getMessage(), e);
                    }
                })
                .orElse(DEFAULT_TIMEOUT);
    }

    private static Optional<String> timeoutOn(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, RdmaTest.class)
                .map(RdmaTest::timeout)
                .or(() -> AnnotationSupport.findAnnotation(element, RdmaParameterizedTest.class)
                        .map(RdmaParameterizedTest::timeout))
                .filter(text -> !text.isEmpty());
    }

    boolean skipWithoutDevice() {
        return flag(RdmaConfiguration.SKIP_WITHOUT_DEVICE, false);
    }

    boolean requireDevice() {
        return flag(RdmaConfiguration.REQUIRE_DEVICE, true);
    }

    Skips skips() {
        return Skips.valueOf(
                choice(RdmaConfiguration.SKIPS, "allow", "fail", "list").toUpperCase(Locale.ROOT));
    }

    boolean failOnStaleDeviations() {
        return choice(RdmaConfiguration.STALE_DEVIATIONS, "report", "fail").equals("fail");
    }

    boolean auditOff() {
        return audit().equals("off");
    }

    boolean auditKernel() {
        return audit().equals("kernel");
    }

    boolean countersFail() {
        return counters().equals("fail");
    }

    boolean countersOff() {
        return counters().equals("off");
    }

    private String counters() {
        return choice(RdmaConfiguration.COUNTERS, "fail", "report", "off");
    }

    private String audit() {
        return choice(RdmaConfiguration.AUDIT, "kernel", "ledger", "off");
    }

    /** Returns the chosen one of some words, the first unless one is chosen. */
    private String choice(String key, String... words) {
        String text = value(key).orElse(words[0]).toLowerCase(Locale.ROOT);
        if (!List.of(words).contains(text)) {
            throw new ExtensionConfigurationException(
                    key + ": \"" + text + "\" is not one of " + String.join(", ", words));
        }
        return text;
    }

    private boolean flag(String key, boolean otherwise) {
        String text = value(key).orElse(Boolean.toString(otherwise)).toLowerCase(Locale.ROOT);
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new ExtensionConfigurationException(key + ": \"" + text + "\" is neither true nor false");
        };
    }

    Optional<String> value(String key) {
        return Optional.ofNullable(Settings.of(context).values().get(key))
                .or(() -> context.getConfigurationParameter(key))
                .map(String::strip)
                .filter(text -> !text.isEmpty());
    }
}
