package io.rdmatest.report.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import gg.jte.ContentType;
import gg.jte.TemplateEngine;
import gg.jte.output.StringOutput;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Units;
import io.rdmatest.report.run.Verdict;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/** Makes the page of a run. It is one file, which loads nothing, so that it opens from disk without a network. */
public final class Page {

    /** The name of the page. */
    public static final String FILE = "index.html";

    /** The files beside the page to which it links. */
    private static final List<String> FILES = List.of(
            "qualification.json",
            RunPairs.FILE,
            "nodes.json",
            "comparison.json",
            "comparison.html",
            "junit.xml",
            "rdmatest.prom");

    /** So many rows of the table of nodes are there before a script adds the rest. */
    static final int ROWS = 25;

    /** So many bad cells without a cause are listed. */
    static final int MOST_UNEXPLAINED = 20;

    /** The space for the values of all rails, in characters. A page of 20 MB takes long to open. */
    private static final long BUDGET = 13_000_000;

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm 'UTC'").withZone(ZoneOffset.UTC);
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /**
     * A rail of a node that somebody has to look at.
     *
     * @param node the node
     * @param rail its rail
     * @param state {@code bad} or {@code suspect}
     * @param evidence why, in a sentence
     * @param action what to do
     */
    public record Need(String node, String rail, String state, String evidence, String action) {}

    private final Path folder;
    private final Run run;
    private final List<Need> needs;
    private final @Nullable Differs differs;
    private final @Nullable Changes changes;
    private final @Nullable RunPairs pairs;
    private final @Nullable String noPairs;
    private final List<MapPart> maps = new ArrayList<>();
    private final List<NodeRow> nodes = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final String order;

    private Page(
            Path folder,
            Run run,
            RunPairs read,
            List<Need> needs,
            @Nullable Differs differs,
            @Nullable Changes changes) {
        this.folder = folder;
        this.run = run;
        this.needs = List.copyOf(needs);
        this.differs = differs;
        this.changes = changes;
        pairs = read.matrix() == null ? null : read;
        noPairs = read.none() != null
                ? read.none() + ", so there is no heat map."
                : read.trouble() != null ? "There is no heat map: " + read.trouble() : null;
        order = pairs == null ? "[]" : take(pairs);
    }

    /**
     * Makes the page.
     *
     * @param folder has the data files to which the page links, and gets the page as {@value #FILE}
     * @param run the run
     * @param pairs the run's measured pairs
     * @param needs the rails of nodes that are bad or suspect
     * @param differs what differs between its nodes, as in {@code nodes.json}; null if the run has one node
     * @param changes what changed since earlier runs; null if it was not compared with any
     * @throws IOException if the page can't be written
     */
    public static void write(
            Path folder,
            Run run,
            RunPairs pairs,
            List<Need> needs,
            @Nullable JsonNode differs,
            @Nullable Changes changes)
            throws IOException {
        Page page = new Page(folder, run, pairs, needs, Differs.of(differs), changes);
        StringOutput html = new StringOutput(1 << 16);
        TemplateEngine.createPrecompiled(
                        null, ContentType.Html, Page.class.getClassLoader(), Page.class.getPackageName())
                .render("page.jte", page, html);
        Path part = folder.resolve(FILE + ".part");
        Files.writeString(part, html.toString());
        Files.move(part, folder.resolve(FILE), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Adds the matrices. Returns the order of the nodes' table: rail and node, the worst first. */
    private String take(RunPairs read) {
        record Place(int rail, int node, NodeRow row) {}
        long cells = read.rails().stream().mapToLong(rail -> rail.state.length).sum();
        List<Place> places = new ArrayList<>();
        for (int rail = 0; rail < read.rails().size(); rail++) {
            RailMatrix matrix = read.rails().get(rail);
            MapPart map = MapPart.of(matrix, BUDGET * matrix.state.length / Math.max(1, cells));
            maps.add(map);
            notes.addAll(map.notes());
            double[] medians = new double[Metric.ofCells().size()];
            for (Metric metric : Metric.ofCells()) {
                medians[metric.ordinal()] = matrix.median(metric);
            }
            for (int node = 0; node < matrix.size(); node++) {
                places.add(new Place(rail, node, matrix.node(node, medians)));
            }
        }
        notes.addAll(read.notes());
        places.sort(Comparator.comparingDouble((Place place) -> -place.row.score())
                .thenComparing(place -> place.row.node(), NaturalOrder.NAMES));
        ArrayNode order = MAPPER.createArrayNode();
        for (Place place : places) {
            nodes.add(place.row);
            order.addArray()
                    .add(place.rail)
                    .add(place.node)
                    .add(place.row.failed(true))
                    .add(place.row.failed(false));
        }
        return MapPart.json(order);
    }

    Run run() {
        return run;
    }

    /** Returns the outcome as a sentence begins. */
    String headline() {
        String outcome = run.outcome().toString();
        return outcome.substring(0, 1).toUpperCase(Locale.ROOT) + outcome.substring(1);
    }

    /** Returns the scenarios that failed, and then those that are broken. */
    List<Run.Scenario> bad() {
        return run.scenarios().stream()
                .filter(scenario -> scenario.verdict == Verdict.FAILED || scenario.verdict == Verdict.BROKEN)
                .sorted(Comparator.comparing(scenario -> scenario.verdict))
                .toList();
    }

    /** Returns the reason of a bad scenario; empty if there is none. */
    static String reason(Run.Scenario scenario) {
        return scenario.reason == null ? "" : scenario.reason.strip();
    }

    List<Measured> measured() {
        return Measured.of(run);
    }

    /** Returns the rails of nodes that are bad or suspect. */
    List<Need> needs() {
        return needs;
    }

    /** Returns where the run was. */
    String where() {
        return run.environment().isEmpty() ? "" : Run.where(run.environment());
    }

    /** Returns how many scenarios were not judged. */
    int skipped() {
        return (int) run.count(Verdict.SKIPPED);
    }

    /** Returns what differs between the nodes; null if the run has one node. */
    @Nullable
    Differs differs() {
        return differs;
    }

    @Nullable
    Changes changes() {
        return changes;
    }

    @Nullable
    RunPairs pairs() {
        return pairs;
    }

    /** Returns why there is no heat map; null if there is one. */
    @Nullable
    String noPairs() {
        return noPairs;
    }

    List<MapPart> maps() {
        return maps;
    }

    /** Returns the first rows of the table of nodes, the worst first. */
    List<NodeRow> nodes() {
        return nodes.subList(0, Math.min(ROWS, nodes.size()));
    }

    int nodeCount() {
        return nodes.size();
    }

    /** Returns what the script needs to add the other rows. */
    String order() {
        return order;
    }

    List<String> notes() {
        return notes;
    }

    /**
     * Returns where the map has a cause: {@code nodes}, the row of the sender and the column of the receiver; {@code cell}, where
     * both meet; {@code leaves}, the block of both leaves.
     */
    static String place(Culprit culprit) {
        return switch (culprit) {
            case Culprit.Node node -> "nodes";
            case Culprit.Port port -> "nodes";
            case Culprit.Path path -> "cell";
            case Culprit.Block block -> "leaves";
        };
    }

    /** Returns what a cell shows, in words. */
    static String text(PairLine cell) {
        StringJoiner text = new StringJoiner(", ");
        text.add(cell.outcome() + (cell.cause() == null ? "" : " (" + cell.cause() + ")"));
        for (Metric metric : Metric.ofCells()) {
            if (!Double.isNaN(metric.of(cell))) {
                text.add(label(metric) + " " + text(metric, metric.of(cell)) + " " + unit(metric));
            }
        }
        return text.toString();
    }

    /** Returns the name of a metric on the page. */
    static String label(Metric metric) {
        return metric.isRate() ? metric.words() : "latency " + metric.quantity();
    }

    /** Returns the unit in which the page shows a metric. */
    static String unit(Metric metric) {
        return metric.unit().equals("us") ? "µs" : metric.unit();
    }

    /** Returns a value in that unit, with three digits; a dash if there is none. */
    static String text(Metric metric, double value) {
        return Double.isNaN(value) ? "–" : Units.digits(value * metric.scale());
    }

    /** Returns the first bad cells that no culprit explains. */
    List<PairLine> unexplained() {
        return pairs == null
                ? List.of()
                : pairs.unexplainedCells().stream().limit(MOST_UNEXPLAINED).toList();
    }

    /** Returns the text for the case that no culprit is named. */
    String noCulprit() {
        int cells = pairs == null ? 0 : pairs.cells();
        if (cells == 0) {
            return "No pair was measured, so nothing is known of culprits.";
        }
        return pairs != null && pairs.unexplainedCells().isEmpty()
                ? "No culprit: nothing stands out in %d pairs.".formatted(cells)
                : "No culprit is named: the evidence of %d pairs carries none.".formatted(cells);
    }

    /** Returns the names of the files beside the page to which it links. */
    List<String> files() {
        return FILES.stream()
                .filter(name -> Files.exists(folder.resolve(name)))
                .filter(name -> !name.equals(RunPairs.FILE) || pairs != null)
                .toList();
    }

    String began() {
        return TIME.format(run.began());
    }

    /** Returns how long the run took. */
    String took() {
        Duration time = Duration.between(run.began(), run.ended());
        return time.toMinutes() == 0
                ? Units.seconds(time.toMillis())
                : time.toHours() == 0
                        ? "%d min %d s".formatted(time.toMinutes(), time.toSecondsPart())
                        : "%d h %d min".formatted(time.toHours(), time.toMinutesPart());
    }

    boolean hasHistory() {
        return changes != null
                && (!changes.series().isEmpty() || !changes.culprits().isEmpty());
    }

    String style() {
        return resource("page.css") + (hasHistory() ? resource(uplot("dist/uPlot.min.css")) : "");
    }

    String script() {
        return resource("page.js");
    }

    String charts() {
        // The licence requires that its text stays with each copy.
        return "/*\n" + resource(uplot("LICENSE")) + "\n*/\n" + resource(uplot("dist/uPlot.iife.min.js"));
    }

    /**
     * Returns the policy for what the page may load and run. It loads nothing, and runs only the scripts that this class adds, by
     * their digest. Names and reasons in the data can't add scripts.
     */
    String policy() {
        return "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src "
                + digest(script()) + (hasHistory() ? " " + digest(charts()) : "");
    }

    private static String digest(String script) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(script.getBytes(StandardCharsets.UTF_8));
            return "'sha256-" + Base64.getEncoder().encodeToString(digest) + "'";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every JDK has SHA-256", e);
        }
    }

    private static String uplot(String file) {
        Properties properties = new Properties();
        try {
            properties.load(new StringReader(resource("/META-INF/maven/org.webjars.npm/uplot/pom.properties")));
        } catch (IOException e) {
            throw new IllegalStateException("A string can be read", e);
        }
        return "/META-INF/resources/webjars/uplot/" + properties.getProperty("version") + "/" + file;
    }

    private static String resource(String name) {
        try (InputStream stream = Page.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException(name + " is missing on the class path");
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException(name + " can't be read", e);
        }
    }
}
