package io.rdmatest.scenarios.runner;

import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.ScenarioNames;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * The selected scenarios, by patterns or one by one.
 *
 * <p>A pattern that matches methods selects all of their invocations. Other patterns can be the names of invocations, such as
 * {@code Ping-pong: rping, 64 bytes, EXTERNAL_QP}, which exist only once their template is unfolded: {@link #includes} judges them then.
 */
public final class Selection {

    /** Marks the exact id of a scenario, as {@code qualification.json} has it. */
    public static final String ID = "id:";

    /** Marks the exact name of a scenario. */
    public static final String NAME = "name:";

    /** Selects everything. */
    static final Selection ALL = new Selection(List.of());

    /** A name that a run prints has a blank after its title. A pattern without blanks is Class.method, or misspelt. */
    private static final Pattern WITHOUT_BLANKS = Pattern.compile("\\S*");

    /** A method of a class of scenarios, or an invocation of one. */
    record Candidate(String inCode, String shown, String id, String title) {}

    /** One pattern, id or name that was given. */
    private record Wanted(String text, Predicate<Candidate> matches) {

        static Wanted of(String text) {
            if (text.startsWith(ID)) {
                String id = text.substring(ID.length());
                return new Wanted(text, candidate -> candidate.id().equals(id));
            }
            if (text.startsWith(NAME)) {
                String name = text.substring(NAME.length());
                return new Wanted(text, candidate -> candidate.shown().equals(name));
            }
            Pattern pattern = glob(text);
            return new Wanted(
                    text,
                    candidate -> Stream.of(candidate.inCode(), candidate.shown(), candidate.id())
                            .anyMatch(each -> pattern.matcher(each).find()));
        }

        /** Returns whether an invocation of this template may match. */
        boolean mayBeIn(Candidate template) {
            if (text.startsWith(ID)) {
                return text.startsWith(ID + template.id() + "[");
            }
            if (text.startsWith(NAME)) {
                return text.startsWith(NAME + template.title() + ": ");
            }
            String lower = text.toLowerCase(Locale.ROOT);
            return lower.startsWith(template.title().toLowerCase(Locale.ROOT) + ":")
                    || lower.startsWith(template.id().toLowerCase(Locale.ROOT) + "[");
        }

        /** Returns whether it may be part of the name of any invocation. */
        boolean mayBeAnyName() {
            return !text.startsWith(ID)
                    && !text.startsWith(NAME)
                    && !WITHOUT_BLANKS.matcher(text).matches();
        }

        private static Pattern glob(String pattern) {
            StringBuilder regex = new StringBuilder();
            for (String literal : pattern.split("\\*", -1)) {
                regex.append(regex.isEmpty() ? "" : ".*").append(Pattern.quote(literal));
            }
            return Pattern.compile(regex.toString(), Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE | Pattern.DOTALL);
        }
    }

    private final List<Wanted> wanted;

    /** Methods of which all invocations run. */
    private final Set<String> whole = new HashSet<>();

    /** Templates of which some invocations run, with the patterns that select these. */
    private final Map<String, List<Wanted>> partly = new HashMap<>();

    private final List<String> unmatched = new ArrayList<>();

    private boolean leavesOut;

    /**
     * Prepares a selection that {@link #resolve} completes.
     *
     * @param texts patterns, {@value #ID} with an id or {@value #NAME} with a name; none for everything
     */
    Selection(List<String> texts) {
        this.wanted = texts.stream().map(Wanted::of).toList();
    }

    boolean isEverything() {
        return wanted.isEmpty();
    }

    /** Finds the methods of a plan that are selected. */
    Selection resolve(TestPlan plan) {
        Map<TestIdentifier, Candidate> methods = new HashMap<>();
        plan.getRoots()
                .forEach(root -> plan.getDescendants(root).forEach(each -> {
                    if (each.getSource().orElse(null) instanceof MethodSource source) {
                        methods.put(each, candidate(plan, each, source));
                    }
                }));
        for (Wanted each : wanted) {
            List<String> direct =
                    ids(methods, entry -> each.matches().test(entry.getValue()) || isOfClass(each, entry));
            if (!direct.isEmpty()) {
                whole.addAll(direct);
                continue;
            }
            List<String> likely = ids(methods, entry -> entry.getKey().isContainer() && each.mayBeIn(entry.getValue()));
            List<String> templates = likely.isEmpty() && each.mayBeAnyName()
                    ? ids(methods, entry -> entry.getKey().isContainer())
                    : likely;
            if (templates.isEmpty()) {
                unmatched.add(each.text());
            }
            templates.forEach(template -> partly.computeIfAbsent(template, ignored -> new ArrayList<>())
                    .add(each));
        }
        leavesOut = !whole.containsAll(
                methods.keySet().stream().map(TestIdentifier::getUniqueId).toList());
        return this;
    }

    /** Returns whether any scenario of the plan that was {@linkplain #resolve resolved} is not selected. */
    public boolean leavesOut() {
        return leavesOut;
    }

    /** Returns whether the id of a class was given. Such a class failed in its set-up, and its scenarios are unknown. */
    private static boolean isOfClass(Wanted wanted, Map.Entry<TestIdentifier, Candidate> method) {
        String id = method.getValue().id();
        return wanted.text().equals(ID + id.substring(0, id.lastIndexOf('.')));
    }

    private static List<String> ids(
            Map<TestIdentifier, Candidate> methods, Predicate<Map.Entry<TestIdentifier, Candidate>> which) {
        return methods.entrySet().stream()
                .filter(which)
                .map(entry -> entry.getKey().getUniqueId())
                .toList();
    }

    private static Candidate candidate(TestPlan plan, TestIdentifier method, MethodSource source) {
        String name = ScenarioNames.name(plan, method);
        String id = ScenarioNames.id(method.getUniqueId(), source.getClassName(), source.getMethodName(), name);
        String title = plan.getParent(method)
                .filter(parent -> parent.getSource().orElse(null) instanceof ClassSource)
                .map(parent -> ScenarioNames.name(plan, parent))
                .orElse("");
        return new Candidate(id + " " + method.getDisplayName(), name, id, title);
    }

    /** Returns the patterns that match nothing, as they were given. */
    public List<String> unmatched() {
        return Collections.unmodifiableList(unmatched);
    }

    /** Returns whether some patterns can be judged only when templates are unfolded. */
    boolean isPartlyUnknown() {
        return !partly.isEmpty();
    }

    /** Returns whether a method of the plan that was {@linkplain #resolve resolved} runs, with all or some of its invocations. */
    boolean includesMethod(String uniqueId) {
        return isEverything() || whole.contains(uniqueId) || partly.containsKey(uniqueId);
    }

    /**
     * Returns whether an invocation of a template runs.
     *
     * @param template the unique id of the template
     * @param shown the invocation's name, as a run prints it
     * @param id its id in {@code qualification.json}
     */
    boolean includes(String template, String shown, String id) {
        List<Wanted> some = partly.get(template);
        Candidate candidate = new Candidate("", shown, id, "");
        return some == null
                || whole.contains(template)
                || some.stream().anyMatch(each -> each.matches().test(candidate));
    }

    /**
     * Returns which patterns matched none of the scenarios that were run.
     *
     * @param run the scenarios
     */
    public List<String> without(List<Run.Scenario> run) {
        return wanted.stream()
                .filter(each -> partly.values().stream().anyMatch(some -> some.contains(each)))
                .filter(each -> run.stream()
                        .map(scenario -> new Candidate("", scenario.name, scenario.stableId(), ""))
                        .noneMatch(each.matches()))
                .map(Wanted::text)
                .toList();
    }

    @Override
    public String toString() {
        return "Selection" + wanted.stream().map(Wanted::text).toList();
    }
}
