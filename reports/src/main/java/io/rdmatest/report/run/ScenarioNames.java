package io.rdmatest.report.run;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** The names that people read: "Ping pong: verifies every byte [2] 4 KiB". */
public final class ScenarioNames {

    private ScenarioNames() {}

    /** A test or one of its containers. */
    private record Level(String shown, @Nullable TestSource source) {

        static Level of(TestIdentifier identifier) {
            return new Level(identifier.getDisplayName(), identifier.getSource().orElse(null));
        }
    }

    public static String name(@Nullable TestPlan plan, TestIdentifier identifier) {
        List<Level> levels = new ArrayList<>();
        Optional<TestIdentifier> current = Optional.of(identifier);
        while (current.isPresent()) {
            levels.add(Level.of(current.get()));
            current = plan == null ? Optional.empty() : plan.getParent(current.get());
        }
        return name(levels);
    }

    /** Returns the name that a test will have in a plan, from its descriptor. */
    public static String name(TestDescriptor descriptor) {
        List<Level> levels = new ArrayList<>();
        Optional<TestDescriptor> current = Optional.of(descriptor);
        while (current.isPresent()) {
            levels.add(Level.of(TestIdentifier.from(current.get())));
            current = current.get().getParent();
        }
        return name(levels);
    }

    /** Returns the name of a test that JUnit is about to run. */
    public static String name(ExtensionContext context) {
        List<Level> levels = new ArrayList<>();
        Optional<ExtensionContext> current = Optional.of(context);
        while (current.isPresent()) {
            ExtensionContext here = current.get();
            AnnotatedElement element = here.getElement().orElse(null);
            TestSource source = null;
            if (element instanceof Class<?> type) {
                source = ClassSource.from(type);
            } else if (element instanceof Method method) {
                source = MethodSource.from(here.getRequiredTestClass(), method);
            }
            levels.add(new Level(here.getDisplayName(), source));
            current = here.getParent();
        }
        return name(levels);
    }

    /** Returns whether a unique id is that of an invocation of a test template, or of a dynamic test. */
    public static boolean isInvocation(String uniqueId) {
        String segment = uniqueId.substring(uniqueId.lastIndexOf('/') + 1);
        return segment.startsWith("[test-template-invocation:") || segment.startsWith("[dynamic-test:");
    }

    /**
     * Returns the id of a scenario, which is the same from run to run: its class and method, and for an invocation its
     * name.
     *
     * @param uniqueId JUnit's id, which numbers invocations
     * @param className its class; null or empty if it is of none
     * @param method its method; null for a class as a whole
     * @param name the name that people read
     */
    public static String id(String uniqueId, @Nullable String className, @Nullable String method, String name) {
        if (className == null || className.isEmpty()) {
            return name;
        }
        String simple = simpleName(className);
        if (method == null) {
            return simple;
        }
        return simple + "." + method + (isInvocation(uniqueId) ? "[" + nameInClass(name) + "]" : "");
    }

    /** Returns a scenario's name without that of its class. */
    public static String nameInClass(String name) {
        return name.substring(name.indexOf(": ") + 1).strip();
    }

    /** The innermost first. */
    private static String name(List<Level> levels) {
        Deque<String> parts = new ArrayDeque<>();
        String scenario = "";
        for (Level here : levels) {
            String shown = here.shown();
            if (here.source() instanceof ClassSource source) {
                String simple = simpleName(source.getClassName());
                String title = shown.equals(simple) ? humanized(simple) : shown;
                scenario = scenario.isEmpty() ? title : title + ", " + scenario;
            } else if (here.source() != null) {
                String withoutTypes = withoutParameterTypes(shown);
                // The name of an invocation is more informative than the method that it repeats.
                boolean repeats = !withoutTypes.equals(shown)
                        && !parts.isEmpty()
                        && !parts.getFirst().startsWith("[");
                if (!repeats) {
                    parts.addFirst(withoutTypes);
                }
            }
        }
        String test = String.join(" ", parts);
        if (scenario.isEmpty()) {
            return test.isEmpty() ? levels.getFirst().shown() : test;
        }
        return test.isEmpty() ? scenario : scenario + ": " + test;
    }

    /** Removes the parameter types that JUnit adds to a method's name. They do not describe the scenario. */
    private static String withoutParameterTypes(String shown) {
        return shown.replaceFirst("^([A-Za-z_$][A-Za-z0-9_$]*)\\([A-Za-z0-9_$.,<>\\[\\] ]*\\)$", "$1");
    }

    public static String simpleName(String className) {
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
