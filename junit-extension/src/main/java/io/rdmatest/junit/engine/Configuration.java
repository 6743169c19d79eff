package io.rdmatest.junit.engine;

import io.rdmatest.junit.Quantity;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaTest;
import java.lang.reflect.AnnotatedElement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Reads the keys of {@link RdmaConfiguration} and refuses what it does not understand. */
public record Configuration(ExtensionContext context) {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Configuration.class);

    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

    public static Configuration of(ExtensionContext context) {
        return new Configuration(context);
    }

    /** Returns the bound of the nearest annotation that sets one, JUnit's own included, else of the configuration. */
    public TimeLimit.Limit timeout() {
        Optional<ExtensionContext> current = Optional.of(context);
        while (current.isPresent()) {
            ExtensionContext nearest = current.get();
            Optional<TimeLimit.Limit> annotated =
                    kept(nearest).or(() -> nearest.getElement().flatMap(Configuration::limitOn));
            if (annotated.isPresent()) {
                return annotated.get();
            }
            current = current.get().getParent();
        }
        return new TimeLimit.Limit(
                value(RdmaConfiguration.TIMEOUT)
                        .map(text -> duration(text, RdmaConfiguration.TIMEOUT))
                        .orElse(DEFAULT_TIMEOUT),
                RdmaConfiguration.TIMEOUT);
    }

    /**
     * Returns the bound of a lifecycle method: that of a @Timeout on it, else that of the test or class. JUnit's @Timeout on a
     * class is for its tests.
     */
    TimeLimit.Limit timeout(AnnotatedElement method) {
        return junitLimit(method).orElseGet(this::timeout);
    }

    /** Takes what a parameterised test's own annotation says for all of its invocations; an empty text says nothing. */
    public static void keepTimeout(ExtensionContext template, String text, String annotation) {
        if (!text.isEmpty()) {
            String source = "@" + annotation + "(timeout)";
            Duration limit = duration(text, source + " on " + template.getRequiredTestMethod());
            template.getStore(NAMESPACE).put(TimeLimit.Limit.class, new TimeLimit.Limit(limit, source));
        }
    }

    private static Optional<TimeLimit.Limit> kept(ExtensionContext context) {
        return Optional.ofNullable(context.getStore(NAMESPACE).get(TimeLimit.Limit.class, TimeLimit.Limit.class));
    }

    private static Optional<TimeLimit.Limit> limitOn(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, RdmaTest.class)
                .map(RdmaTest::timeout)
                .filter(text -> !text.isEmpty())
                .map(text ->
                        new TimeLimit.Limit(duration(text, "@RdmaTest(timeout) on " + element), "@RdmaTest(timeout)"))
                .or(() -> junitLimit(element));
    }

    private static Optional<TimeLimit.Limit> junitLimit(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, Timeout.class)
                .map(timeout -> new TimeLimit.Limit(
                        Duration.of(timeout.value(), timeout.unit().toChronoUnit()), "@Timeout"));
    }

    private static Duration duration(String text, String source) {
        try {
            return Quantity.duration(text);
        } catch (IllegalArgumentException e) {
            throw new ExtensionConfigurationException(source + ": " + e.getMessage(), e);
        }
    }

    /** Tells whether limits are off: by JUnit's mode of timeouts or, unless that is set, in a debugger. */
    boolean timeoutsOff() {
        return switch (context.getConfigurationParameter(Timeout.TIMEOUT_MODE_PROPERTY_NAME)
                .map(mode -> mode.strip().toLowerCase(Locale.ROOT))
                .orElse("disabled_on_debug")) {
            case "disabled" -> true;
            case "disabled_on_debug" -> TimeLimit.isDebugged();
            default -> false;
        };
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

    public boolean countersFail() {
        return counters().equals("fail");
    }

    public boolean countersOff() {
        return counters().equals("off");
    }

    private String counters() {
        return choice(RdmaConfiguration.COUNTERS, "report", "fail", "off");
    }

    private String audit() {
        return choice(RdmaConfiguration.AUDIT, "ledger", "kernel", "off");
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
