package io.rdmatest.junit.engine;

import io.rdmatest.fabric.yaml.CheckedYaml;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** Reads and checks one deviations file. */
final class DeviationReader extends CheckedYaml {

    static final Pattern KEY = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

    private static final List<String> KEYS =
            List.of("key", "test", "name", "provider", "kernel", "rdma-core", "expect", "message", "reason", "link");
    private static final Pattern TEST = Pattern.compile("[\\w.$*]+(#[\\w$*]+)?");
    private static final String NO_LINK = "%s is no link; allowed: https://… or http://…";
    private static final String FAILURE = "failure";

    private DeviationReader(String source) {
        super(source);
    }

    /**
     * Reads the deviations.
     *
     * @param source where the text is from, for messages
     * @param text the YAML
     * @throws ExtensionConfigurationException with a line {@code source:line:column: …} for each problem
     */
    static List<Deviation> read(String source, String text) {
        return new DeviationReader(source).read(text);
    }

    @Override
    protected RuntimeException failure(List<String> problems) {
        return new ExtensionConfigurationException(String.join(System.lineSeparator(), problems));
    }

    private List<Deviation> read(String text) {
        Node root = compose(text, "a deviations file has the key deviations");
        List<Deviation> deviations = new ArrayList<>();
        Map<String, Node> keys = mapping(root, "a deviations file", List.of("deviations"), List.of("deviations"));
        Node list = keys == null ? null : keys.get("deviations");
        if (list instanceof SequenceNode sequence && !sequence.getValue().isEmpty()) {
            sequence.getValue().forEach(item -> deviation(item, deviations));
        } else if (list != null) {
            problem(list, "deviations must be a list of at least one deviation, not " + shown(list));
        }
        failOnProblems();
        return deviations;
    }

    private void deviation(Node item, List<Deviation> deviations) {
        int before = problemCount();
        Map<String, Node> keys = mapping(item, "a deviation", KEYS, List.of("provider", "expect", "reason", "link"));
        if (keys == null) {
            return;
        }
        if (keys.containsKey("key") == keys.containsKey("test")) {
            problem(item, "a deviation needs either key or test");
        }
        String key = value(
                keys.get("key"),
                "key",
                text -> matching(text, KEY, "key; allowed: lower-case letters, digits and hyphens"));
        String test = value(
                keys.get("test"),
                "test",
                text -> matching(
                        text,
                        TEST,
                        "test; allowed: package.Class#method or package.Class, both with * for anything, such as"
                                + " com.example.*#atomic*"));
        String name = value(keys.get("name"), "name", DeviationReader::words);
        Pattern provider = value(keys.get("provider"), "provider", DeviationReader::expression);
        Predicate<Release> kernel = range(keys, "kernel");
        Predicate<Release> rdmaCore = range(keys, "rdma-core");
        String expect = choice(keys.get("expect"), "expect", new String[] {FAILURE, "skip"});
        Pattern message = value(keys.get("message"), "message", DeviationReader::expression);
        if (FAILURE.equals(expect) && !keys.containsKey("message")) {
            problem(
                    item,
                    "expect: failure needs message, a part of the failure's message; only that failure is expected");
        }
        if ("skip".equals(expect) && keys.containsKey("message")) {
            problem(keys.get("message"), "message makes no sense with expect: skip, for the test does not run");
        }
        String reason = value(keys.get("reason"), "reason", DeviationReader::words);
        String link = value(keys.get("link"), "link", DeviationReader::link);
        if (problemCount() == before && provider != null && reason != null && link != null) {
            String title = key != null ? key : String.valueOf(test).replaceFirst("^[^#]*$", "$0#*");
            deviations.add(new Deviation(
                    source + ":" + line(item),
                    title,
                    glob(title),
                    glob(name == null ? "*" : name),
                    provider,
                    kernel,
                    rdmaCore,
                    message,
                    reason,
                    link));
        }
    }

    private static Pattern glob(String text) {
        return Pattern.compile(
                Arrays.stream(text.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*")),
                Pattern.DOTALL);
    }

    /** Reads one value. The parser's message has %s where the value stands. */
    private <T> @Nullable T value(@Nullable Node value, String what, Function<String, T> parser) {
        try {
            return value == null ? null : parser.apply(text(value));
        } catch (IllegalArgumentException e) {
            problem(value, what + " " + String.valueOf(e.getMessage()).replace("%s", shown(value)));
            return null;
        }
    }

    private static String matching(String text, Pattern pattern, String what) {
        require(pattern.matcher(text).matches(), "%s is no " + what);
        return text;
    }

    private static String words(String text) {
        require(!text.isBlank(), "must say something, not %s");
        return text.strip();
    }

    private static Pattern expression(String text) {
        try {
            return Pattern.compile(words(text));
        } catch (PatternSyntaxException e) {
            throw new IllegalArgumentException("%s is no regular expression: " + e.getDescription(), e);
        }
    }

    private static Release release(String text) {
        try {
            return Release.parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "%s is no release; allowed: one to three numbers with dots, such as \"6.1\"", e);
        }
    }

    private static String link(String text) {
        try {
            URI link = new URI(text);
            require(link.getHost() != null && List.of("http", "https").contains(link.getScheme()), NO_LINK);
            return text;
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(NO_LINK, e);
        }
    }

    private static void require(boolean right, String problem) {
        if (!right) {
            throw new IllegalArgumentException(problem);
        }
    }

    private Predicate<Release> range(Map<String, Node> keys, String what) {
        Node value = keys.get(what);
        int before = problemCount();
        Map<String, Node> ends = value == null ? null : mapping(value, what, List.of("min", "max"), List.of());
        if (value == null || ends == null) {
            return any -> true;
        }
        if (ends.isEmpty() && problemCount() == before) {
            problem(value, what + " selects nothing; give min or max, or leave it out");
        }
        Release min = value(ends.get("min"), what + " min", DeviationReader::release);
        Release max = value(ends.get("max"), what + " max", DeviationReader::release);
        if (min != null && max != null && min.compareTo(max) > 0) {
            problem(value, what + " min " + min + " is newer than max " + max);
        }
        return release -> (min == null || release.compareTo(min) >= 0) && (max == null || !max.isBefore(release));
    }
}
