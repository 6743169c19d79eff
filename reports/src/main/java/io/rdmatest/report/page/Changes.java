package io.rdmatest.report.page;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.nights.CellComparison;
import io.rdmatest.report.nights.CellComparison.Port;
import io.rdmatest.report.nights.CellComparison.Worse;
import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.nights.QualificationComparison.Change;
import io.rdmatest.report.nights.QualificationComparison.Finding;
import io.rdmatest.report.nights.QualificationComparison.Series;
import io.rdmatest.report.nights.QualificationComparison.Shift;
import io.rdmatest.report.run.Units;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The changes since earlier runs, as the page shows them.
 *
 * @param scenarios those of verdicts, measurements and the environment
 * @param cells those of single pairs; null if none were compared
 */
public record Changes(
        QualificationComparison scenarios, @Nullable CellComparison cells) {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** The largest number of charts; nobody looks at more. */
    private static final int MOST_SERIES = 24;

    private static final int MOST_RUNS = 30;

    /** The largest number of pairs, and of ports, that are listed. */
    private static final int MOST_PAIRS = 20;

    /** Returns the changes; null if nothing was compared. */
    public static @Nullable Changes of(@Nullable QualificationComparison scenarios, @Nullable CellComparison cells) {
        return scenarios == null ? null : new Changes(scenarios, cells);
    }

    /**
     * One change.
     *
     * @param change which way it goes
     * @param what the scenario or the part of the environment
     * @param text what it was and what it is
     */
    record Row(Change change, String what, String text) {}

    /** The values of charts: the names of the runs, and a line for each chart. */
    private record Lines(List<String> runs, List<List<@Nullable Double>> series) {}

    /** Returns all of it in one sentence. */
    String summary() {
        int before = scenarios.runsBefore();
        return "%d worse and %d better than in %s. %d verdicts and %d measurements were compared."
                .formatted(
                        scenarios.count(Change.WORSE),
                        scenarios.count(Change.BETTER),
                        before == 1 ? "the run before" : "the " + before + " runs before",
                        scenarios.comparedVerdicts(),
                        scenarios.comparedMeasurements());
    }

    /** Returns what changed, what is worse first. */
    List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        scenarios
                .turns()
                .forEach(turn -> rows.add(new Row(
                        turn.change(),
                        turn.scenario(),
                        turn.before() + " → " + turn.after() + (turn.again() ? " when run again" : "")
                                + (turn.reason().isEmpty() ? "" : ": " + turn.reason()))));
        scenarios
                .shifts()
                .forEach(shift ->
                        rows.add(new Row(shift.change(), shift.scenario() + ": " + shift.measurement(), text(shift))));
        scenarios
                .facts()
                .forEach(fact -> rows.add(new Row(Change.OTHER, fact.name(), fact.before() + " → " + fact.after())));
        rows.sort(Comparator.comparing(Row::change));
        return rows;
    }

    private static String text(Shift shift) {
        String unit = " " + shift.unit();
        Double after = shift.after();
        String was = (shift.finding() == Finding.DRIFT ? "drifts from " : "") + Units.digits(shift.before());
        if (after == null) {
            return was + unit + " → missing";
        }
        return was + " → " + Units.digits(after) + unit
                + (shift.before() > 0 ? String.format(Locale.ROOT, " (%.2f times)", after / shift.before()) : "");
    }

    /** Returns the ports with many pairs that are worse, as parts of a sentence. */
    List<String> ports() {
        List<Port> all = cells == null ? List.of() : cells.ports();
        int others = all.size() - MOST_PAIRS;
        return Stream.concat(
                        all.stream().limit(MOST_PAIRS).map(Port::text),
                        others > 0 ? Stream.of("and " + others + " more ports") : Stream.of())
                .toList();
    }

    /** Returns the worst pairs. */
    List<Worse> pairs() {
        return cells == null
                ? List.of()
                : cells.worse().stream().limit(MOST_PAIRS).toList();
    }

    /** Returns how many other pairs are worse. */
    int more() {
        return cells == null ? 0 : Math.max(0, cells.worse().size() - MOST_PAIRS);
    }

    /** Returns what a pair was and what it is. */
    static String text(Worse pair) {
        return pair.text().replace("->", "→");
    }

    /** Returns the member of the pair that changed; empty if the pair failed. */
    static String metric(Worse pair) {
        return Metric.ofMember(pair.what()).isPresent() ? pair.what() : "";
    }

    private List<Series> charts() {
        return scenarios.history().series().stream().limit(MOST_SERIES).toList();
    }

    /** Returns the names of the charts of measurements. */
    List<String> series() {
        return charts().stream()
                .map(each -> each.scenario() + ": " + each.measurement() + ", in " + each.unit())
                .toList();
    }

    /** Returns the values of these charts, as JSON that is safe inside a script element. */
    String history() {
        return MapPart.json(MAPPER.valueToTree(new Lines(
                last(scenarios.history().runs()),
                charts().stream().map(each -> last(each.values())).toList())));
    }

    private static <T> List<T> last(List<T> runs) {
        return runs.subList(Math.max(0, runs.size() - MOST_RUNS), runs.size());
    }

    /** Returns the charts of the culprits. */
    List<CellComparison.Series> culprits() {
        return cells == null ? List.of() : cells.history().series();
    }

    /** Returns the values of these charts night by night, as JSON that is safe inside a script element. */
    String nights() {
        return MapPart.json(MAPPER.valueToTree(cells == null ? Map.of() : cells.history()));
    }
}
