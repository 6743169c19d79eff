package io.rdmatest.junit.engine;

import io.rdmatest.fabric.yaml.CheckedYaml;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** Reads and checks one deviations file. */
final class DeviationReader extends CheckedYaml {

    private static final List<String> KEYS =
            List.of("key", "test", "name", "provider", "kernel", "rdma-core", "expect", "message", "reason", "link");
    private static final Pattern KEY = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");
    private static final Pattern TEST = Pattern.compile("[\\w.$*]+(#[\\w$*]+)?");

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

    static boolean isKey(String text) {
        return KEY.matcher(text).matches();
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
            for (Node item : sequence.getValue()) {
                Deviation deviation = deviation(item);
                if (deviation != null) {
                    deviations.add(deviation);
                }
            }
        } else if (list != null) {
            problem(list, "deviations must be a list of at least one deviation, not " + shown(list));
        }
        failOnProblems();
        return deviations;
    }

    private @Nullable Deviation deviation(Node item) {
        int before = problemCount();
        Map<String, Node> keys = mapping(item, "a deviation", KEYS, List.of("provider", "expect", "reason", "link"));
        if (keys == null) {
            return null;
        }
        if (keys.containsKey("key") == keys.containsKey("test")) {
            problem(item, "a deviation needs either key or test");
        }
        String key = matching(keys.get("key"), "key", KEY, "lower-case letters, digits and hyphens");
        String test = matching(
                keys.get("test"),
                "test",
                TEST,
                "package.Class#method or package.Class, both with * for anything, such as com.example.*#atomic*");
        String name = words(keys.get("name"), "name");
        Pattern provider = expression(keys.get("provider"), "provider");
        Deviation.Range kernel = range(keys.get("kernel"), "kernel");
        Deviation.Range rdmaCore = range(keys.get("rdma-core"), "rdma-core");
        Deviation.Expect expect = choice(keys.get("expect"), "expect", Deviation.Expect.values());
        Pattern message = expression(keys.get("message"), "message");
        if (expect == Deviation.Expect.FAILURE && !keys.containsKey("message")) {
            problem(
                    item,
                    "expect: failure needs message, a part of the failure's message; only that failure is expected");
        }
        if (expect == Deviation.Expect.SKIP && keys.containsKey("message")) {
            problem(keys.get("message"), "message makes no sense with expect: skip, for the test does not run");
        }
        String reason = words(keys.get("reason"), "reason");
        String link = link(keys.get("link"));
        if (problemCount() > before || provider == null || expect == null || reason == null || link == null) {
            return null;
        }
        int line = item.getStartMark().map(Mark::getLine).orElse(0) + 1;
        String tests = test == null || test.contains("#") ? test : test + "#*";
        return new Deviation(
                source + ":" + line, key, tests, name, provider, kernel, rdmaCore, expect, message, reason, link);
    }

    private @Nullable String matching(@Nullable Node value, String what, Pattern pattern, String allowed) {
        if (value != null && !pattern.matcher(text(value)).matches()) {
            problem(value, what + " " + shown(value) + " is no " + what + "; allowed: " + allowed);
        }
        return value == null ? null : text(value);
    }

    private @Nullable String words(@Nullable Node value, String what) {
        if (value != null && text(value).isBlank()) {
            problem(value, what + " must say something, not " + shown(value));
        }
        return value == null ? null : text(value).strip();
    }

    private @Nullable Pattern expression(@Nullable Node value, String what) {
        String text = words(value, what);
        if (value == null || text == null || text.isBlank()) {
            return null;
        }
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException e) {
            problem(value, what + " " + shown(value) + " is no regular expression: " + e.getDescription());
            return null;
        }
    }

    private Deviation.Range range(@Nullable Node value, String what) {
        if (value == null) {
            return Deviation.Range.ANY;
        }
        int before = problemCount();
        Map<String, Node> keys = mapping(value, what, List.of("min", "max"), List.of());
        if (keys == null) {
            return Deviation.Range.ANY;
        }
        if (keys.isEmpty() && problemCount() == before) {
            problem(value, what + " selects nothing; give min or max, or leave it out");
        }
        Release min = release(keys.get("min"), what + " min");
        Release max = release(keys.get("max"), what + " max");
        if (min != null && max != null && min.compareTo(max) > 0) {
            problem(value, what + " min " + min + " is newer than max " + max);
        }
        return new Deviation.Range(min, max);
    }

    private @Nullable Release release(@Nullable Node value, String what) {
        if (value == null) {
            return null;
        }
        try {
            return Release.parse(text(value));
        } catch (IllegalArgumentException e) {
            problem(
                    value,
                    what + " " + shown(value)
                            + " is no release; allowed: one to three numbers with dots, such as \"6.1\"");
            return null;
        }
    }

    private @Nullable String link(@Nullable Node value) {
        if (value == null) {
            return null;
        }
        try {
            URI link = new URI(text(value));
            if (link.getHost() != null && List.of("http", "https").contains(link.getScheme())) {
                return link.toString();
            }
        } catch (URISyntaxException e) {
            // falls through to the one message for everything that is no link
        }
        problem(value, "link " + shown(value) + " is no link; allowed: https://… or http://…");
        return null;
    }
}
