package io.rdmatest.fabric.yaml;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.composer.Composer;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/**
 * Reads and checks one YAML file of the project.
 *
 * <p>It works on composed nodes instead of loaded maps, because composed nodes know their line and column. It collects all
 * problems of the file before it fails. Only the project's own modules may use it.
 */
public abstract class CheckedYaml {

    private static final String MERGE = "<<";

    private record Problem(int line, int column, String text) {}

    /** Where the text is from, for messages. */
    protected final String source;

    private final List<Problem> problems = new ArrayList<>();

    /**
     * Creates the reader of a file.
     *
     * @param source where the text is from, for messages
     */
    protected CheckedYaml(String source) {
        this.source = source;
    }

    /**
     * Creates the exception for a wrong file.
     *
     * @param problems one line each, {@code source:line:column: …}, in the file's order
     */
    protected abstract RuntimeException failure(List<String> problems);

    /** Throws the exception from {@link #failure} if there was a problem. */
    protected void failOnProblems() {
        if (!problems.isEmpty()) {
            throw failure(problems.stream()
                    .sorted(Comparator.comparingInt(Problem::line).thenComparingInt(Problem::column))
                    .map(problem -> source + ":" + problem.line() + ":" + problem.column() + ": " + problem.text())
                    .distinct()
                    .toList());
        }
    }

    /** Returns how many problems there have been so far. */
    protected int problemCount() {
        return problems.size();
    }

    /**
     * Parses the text.
     *
     * @param text the YAML
     * @param empty what a file must have, for the message about an empty one
     */
    protected Node compose(String text, String empty) {
        // Composed nodes share what an alias names, so neither many aliases nor a large file cost more than the text
        // itself.
        LoadSettings settings = LoadSettings.builder()
                .setLabel(source)
                .setMaxAliasesForCollections(Integer.MAX_VALUE)
                .setCodePointLimit(Integer.MAX_VALUE)
                .build();
        try {
            // This does the same as snakeyaml-engine's class Compose, whose package the module does not export.
            Optional<Node> root = new Composer(settings, new ShallowParser(settings, new StreamReader(settings, text)))
                    .getSingleNode();
            Node top = root.orElseThrow(() -> failure(List.of(source + ":1:1: the file is empty; " + empty)));
            merge(top, Collections.newSetFromMap(new IdentityHashMap<>()), new ArrayList<>());
            return top;
        } catch (MarkedYamlEngineException e) {
            Optional<Mark> mark = e.getProblemMark().or(e::getContextMark);
            throw failure(List.of(at(mark) + "not YAML: " + because(e.getProblem())));
        } catch (YamlEngineException e) {
            throw failure(List.of(
                    source + ":1:1: not YAML: " + String.valueOf(e.getMessage()).replaceAll("\\s+", " ")));
        }
    }

    /**
     * Adds the keys of the mappings that {@code <<} names to each mapping with such a key. The mapping's own keys take
     * precedence, as in YAML 1.1.
     */
    private void merge(Node node, Set<Node> done, List<Node> within) {
        if (within.stream().anyMatch(outer -> outer == node)) {
            problem(node, "an alias stands within what it names");
            failOnProblems();
        }
        if (!done.add(node)) {
            return;
        }
        within.add(node);
        if (node instanceof SequenceNode sequence) {
            sequence.getValue().forEach(item -> merge(item, done, within));
        } else if (node instanceof MappingNode mapping) {
            mapping.getValue().forEach(entry -> merge(entry.getValueNode(), done, within));
            mapping.setValue(merged(mapping));
        }
        within.removeLast();
    }

    private List<NodeTuple> merged(MappingNode mapping) {
        List<NodeTuple> entries = new ArrayList<>();
        List<NodeTuple> others = new ArrayList<>();
        for (NodeTuple entry : mapping.getValue()) {
            if (!text(entry.getKeyNode()).equals(MERGE)) {
                entries.add(entry);
                continue;
            }
            List<? extends Node> named =
                    entry.getValueNode() instanceof SequenceNode list ? list.getValue() : List.of(entry.getValueNode());
            for (Node each : named) {
                if (each instanceof MappingNode other) {
                    others.addAll(other.getValue());
                } else {
                    problem(each, MERGE + " merges mappings, such as <<: *name, not " + shown(each));
                }
            }
        }
        Set<String> keys = new HashSet<>();
        entries.forEach(entry -> keys.add(text(entry.getKeyNode())));
        others.stream().filter(entry -> keys.add(text(entry.getKeyNode()))).forEach(entries::add);
        return entries;
    }

    /** Limits the depth of a file. The composer calls itself for each level, and would overflow its stack otherwise. */
    private final class ShallowParser extends ParserImpl {

        private static final int DEEPEST = 64;

        private int depth;

        ShallowParser(LoadSettings settings, StreamReader reader) {
            super(settings, reader);
        }

        @Override
        public Event next() {
            Event event = super.next();
            switch (event.getEventId()) {
                case SequenceStart, MappingStart -> depth++;
                case SequenceEnd, MappingEnd -> depth--;
                default -> {
                    // adds no level
                }
            }
            if (depth > DEEPEST) {
                throw failure(List.of(at(event.getStartMark()) + "lists and mappings are more than " + DEEPEST
                        + " levels deep; is a bracket not closed?"));
            }
            return event;
        }
    }

    private String at(Optional<Mark> mark) {
        return source + ":"
                + mark.map(m -> (m.getLine() + 1) + ":" + (m.getColumn() + 1)).orElse("1:1") + ": ";
    }

    private static String because(@Nullable String problem) {
        if (problem == null) {
            return "";
        }
        return problem.contains("(TAB)")
                ? "there is a tab where only spaces may indent; replace it by spaces"
                : problem.replaceAll("\\s+", " ");
    }

    /** Notes a problem at a node. */
    protected void problem(Node at, String text) {
        Optional<Mark> mark = at.getStartMark();
        problems.add(new Problem(
                mark.map(m -> m.getLine() + 1).orElse(1),
                mark.map(m -> m.getColumn() + 1).orElse(1),
                text));
    }

    /** Checks a mapping and its keys. Notes a problem and returns null if the node is no mapping. */
    protected @Nullable Map<String, Node> mapping(Node node, String what, List<String> allowed, List<String> required) {
        if (!(node instanceof MappingNode mapping)) {
            problem(node, what + " must be a mapping with the keys " + list(allowed) + ", not " + shown(node));
            return null;
        }
        Map<String, Node> keys = new LinkedHashMap<>();
        for (NodeTuple entry : mapping.getValue()) {
            String key =
                    entry.getKeyNode() instanceof ScalarNode scalar ? scalar.getValue() : shown(entry.getKeyNode());
            if (!allowed.contains(key)) {
                problem(
                        entry.getKeyNode(),
                        "unknown key '" + key + "' in " + what + "; allowed: " + list(allowed)
                                + didYouMean(key, allowed));
            } else if (keys.putIfAbsent(key, entry.getValueNode()) != null) {
                problem(entry.getKeyNode(), "key '" + key + "' appears twice in " + what);
            }
        }
        for (String key : required) {
            if (!keys.containsKey(key)) {
                problem(node, "key '" + key + "' is missing in " + what + "; it needs " + list(required));
            }
        }
        return keys;
    }

    /** Returns the choice whose {@code toString} is the value. Notes a problem and returns null if there is none. */
    protected <T> @Nullable T choice(@Nullable Node value, String what, T[] choices) {
        if (value == null) {
            return null;
        }
        String text = text(value);
        for (T choice : choices) {
            if (choice.toString().equals(text)) {
                return choice;
            }
        }
        List<String> allowed = Stream.of(choices).map(Object::toString).toList();
        problem(
                value,
                what + " " + shown(value) + " is unknown; allowed: " + list(allowed) + didYouMean(text, allowed));
        return null;
    }

    /** Reads a whole number in a range. Notes a problem and returns {@code from} for anything else. */
    protected int integer(Node value, String what, int from, int to, String or) {
        if (value.getTag().equals(Tag.INT)) {
            try {
                int number = Integer.parseInt(text(value));
                if (number >= from && number <= to) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // falls through to the one message for everything that is no number in the range
            }
        }
        problem(value, what + " " + shown(value) + " is out of range; allowed: " + from + " … " + to + or);
        return from;
    }

    /** Reads true or false. Notes a problem and returns false for anything else. */
    protected boolean flag(Node value, String what) {
        if (value.getTag().equals(Tag.BOOL)) {
            return Boolean.parseBoolean(text(value));
        }
        problem(value, what + " " + shown(value) + " is neither of the allowed: true, false");
        return false;
    }

    /** Returns the line that a node begins in, from 1. */
    protected static int line(Node node) {
        return node.getStartMark().map(mark -> mark.getLine() + 1).orElse(1);
    }

    /** Returns a scalar's text. For null and for every other node it is empty, which no check accepts. */
    protected static String text(Node value) {
        return value instanceof ScalarNode scalar && !scalar.getTag().equals(Tag.NULL) ? scalar.getValue() : "";
    }

    /** Says what a value looks like, for a message. */
    protected static String shown(Node value) {
        if (value instanceof ScalarNode scalar) {
            return scalar.getTag().equals(Tag.NULL) ? "nothing" : "'" + scalar.getValue() + "'";
        }
        if (value instanceof SequenceNode sequence) {
            return sequence.getValue().isEmpty() ? "an empty list" : "a list";
        }
        return "a mapping";
    }

    /** Says a list of words. */
    protected static String list(List<String> words) {
        return String.join(", ", words);
    }

    /** Suggests the nearest of the allowed words; empty if none is near. */
    protected static String didYouMean(String word, List<String> allowed) {
        String lower = word.toLowerCase(Locale.ROOT);
        return allowed.stream()
                .filter(other -> distance(lower, other.toLowerCase(Locale.ROOT)) <= Math.max(1, other.length() / 3))
                .min(Comparator.comparingInt(other -> distance(lower, other.toLowerCase(Locale.ROOT))))
                .map(other -> " (did you mean '" + other + "'?)")
                .orElse("");
    }

    /** The number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
    private static int distance(String from, String to) {
        int[][] edits = new int[from.length() + 1][to.length() + 1];
        for (int i = 0; i <= from.length(); i++) {
            for (int j = 0; j <= to.length(); j++) {
                if (i == 0 || j == 0) {
                    edits[i][j] = i + j;
                    continue;
                }
                int replaced = edits[i - 1][j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                edits[i][j] = Math.min(replaced, 1 + Math.min(edits[i - 1][j], edits[i][j - 1]));
                if (i > 1
                        && j > 1
                        && from.charAt(i - 1) == to.charAt(j - 2)
                        && from.charAt(i - 2) == to.charAt(j - 1)) {
                    edits[i][j] = Math.min(edits[i][j], edits[i - 2][j - 2] + 1);
                }
            }
        }
        return edits[from.length()][to.length()];
    }
}
