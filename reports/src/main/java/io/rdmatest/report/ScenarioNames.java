package io.rdmatest.report;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** The names that people read: "Ping pong: verifies every byte [2] 4 KiB". */
final class ScenarioNames {

    private ScenarioNames() {}

    static String name(@Nullable TestPlan plan, TestIdentifier identifier) {
        Deque<String> parts = new ArrayDeque<>();
        Optional<TestIdentifier> current = Optional.of(identifier);
        String scenario = "";
        while (current.isPresent()) {
            TestIdentifier here = current.get();
            if (here.getSource().orElse(null) instanceof ClassSource source) {
                String simple = simpleName(source.getClassName());
                String shown = here.getDisplayName();
                String title = shown.equals(simple) ? humanized(simple) : shown;
                scenario = scenario.isEmpty() ? title : title + ", " + scenario;
            } else if (here.getSource().isPresent()) {
                String shown = here.getDisplayName();
                String withoutTypes = withoutParameterTypes(shown);
                // An invocation that has a name of its own says more than the method that it repeats.
                boolean repeats = !withoutTypes.equals(shown)
                        && !parts.isEmpty()
                        && !parts.getFirst().startsWith("[");
                if (!repeats) {
                    parts.addFirst(withoutTypes);
                }
            }
            current = plan == null ? Optional.empty() : plan.getParent(here);
        }
        String test = String.join(" ", parts);
        if (scenario.isEmpty()) {
            return test.isEmpty() ? identifier.getDisplayName() : test;
        }
        return test.isEmpty() ? scenario : scenario + ": " + test;
    }

    /** JUnit names a method with the types of its parameters, which say nothing about the scenario. */
    private static String withoutParameterTypes(String shown) {
        return shown.replaceFirst("^([A-Za-z_$][A-Za-z0-9_$]*)\\([A-Za-z0-9_$.,<>\\[\\] ]*\\)$", "$1");
    }

    static String simpleName(String className) {
        return className.substring(Math.max(className.lastIndexOf('.'), className.lastIndexOf('$')) + 1);
    }

    /** Turns {@code PingPongScenarios} into "Ping pong". */
    static String humanized(String simpleName) {
        String stem = simpleName.replaceFirst("(?<=.)Scenarios?$", "");
        String words = stem.replaceAll("(?<=[a-z0-9])(?=[A-Z])", " ");
        if (words.isEmpty()) {
            return simpleName;
        }
        return words.charAt(0) + words.substring(1).toLowerCase(Locale.ROOT);
    }
}
