package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.scenarios.bench.GrowthResult.Point;
import io.rdmatest.scenarios.bench.GrowthResult.Round;
import io.rdmatest.scenarios.bench.RowResult.Pair;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ComparisonTests {

    private static final Instant MEASURED = Instant.parse("2026-01-31T23:59:59Z");

    @TempDir
    private Path folder;

    private static BenchRow row(String name) {
        return BenchRows.all().stream()
                .filter(row -> row.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static RowResult result(String name, double... ratios) {
        List<Pair> pairs = new ArrayList<>();
        for (double ratio : ratios) {
            pairs.add(new Pair(new Sample(2, Map.of()), new Sample(2 * ratio, Map.of())));
        }
        return new RowResult(row(name), pairs, List.of(), Map.of(), null, List.of(), 0);
    }

    /** Five times the same, which decides. */
    private static RowResult steady(String name, double ratio) {
        return result(name, ratio, ratio, ratio, ratio, ratio);
    }

    private static RowResult missing(String name) {
        return RowResult.notMeasured(row(name), Map.of(), "no such program");
    }

    private static BenchReport report(List<RowResult> results, GrowthResult... growth) {
        return new BenchReport(MEASURED, results, List.of(growth));
    }

    /** Work that grows, whose time grows so many times. */
    private static GrowthResult growth(String name, double times) {
        GrowthRow row = GrowthRows.all().stream()
                .filter(each -> each.name().equals(name))
                .findFirst()
                .orElseThrow();
        List<Point> points = row.work().stream()
                .map(work -> new Point(work, work.equals(row.work().getLast()) ? 100 * times : 100, 0, 0))
                .toList();
        return new GrowthResult(row, points, List.of(new Round(times, 1)), null, 0);
    }

    private Path write(RowResult... results) throws IOException {
        Path file = folder.resolve("earlier.json");
        new BenchReport(MEASURED, List.of(results), List.of()).write(file);
        return file;
    }

    @Test
    void onlyTheOppositeOfAnEarlierVerdictIsAContradiction() throws Exception {
        Path file = write(
                steady("mckey", 2),
                steady("send-lat-64", 1.5),
                steady("send-bw-1m", 2),
                result("read-bw-1m", 0.9, 1.1, 0.9, 1.1, 0.9),
                missing("cmtime-1000"),
                steady("qualification", 1.2));
        List<RowResult> now = List.of(
                steady("mckey", 0.5),
                steady("send-lat-64", 0.75),
                result("send-bw-1m", 0.9, 1.1, 0.9, 1.1, 1.1),
                steady("read-bw-1m", 2),
                steady("cmtime-1000", 0.5),
                steady("qualification", 1.25),
                missing("rping-verified"));

        Comparison comparison = Comparison.read(file);

        assertThat(comparison.contradictions(report(now))).isEqualTo(2);
        assertThat(comparison.lines(report(now)).stream()
                        .map(line -> line.strip().replaceAll(" +", " "))
                        .toList())
                .containsExactly(
                        "row target then now",
                        "mckey >= 1.00 2.000 holds 0.500 misses the opposite",
                        "send-lat-64 <= 1.05 1.500 misses 0.750 holds the opposite",
                        "send-bw-1m >= 1.00 2.000 holds 1.100 undecided",
                        "read-bw-1m >= 1.00 0.900 undecided 2.000 holds",
                        "cmtime-1000 >= 1.50 not measured 0.500 misses",
                        "qualification <= 1.50 1.200 holds 1.250 holds",
                        "rping-verified >= 2.00 not there not measured",
                        "2 of 7 verdicts are the opposite of those in " + file + ", measured 2026-01-31T23:59:59Z");
    }

    @Test
    void workThatGrowsIsComparedAsWell() throws Exception {
        Path file = folder.resolve("earlier.json");
        report(List.of(steady("mckey", 2)), growth("growth-qps", 1.25), growth("growth-size", 1.75))
                .write(file);
        BenchReport now = report(
                List.of(), growth("growth-qps", 2), growth("growth-size", 1.75), growth("growth-connections", 1));

        Comparison comparison = Comparison.read(file);

        assertThat(comparison.contradictions(now)).isEqualTo(1);
        assertThat(comparison.lines(now).stream()
                        .map(line -> line.strip().replaceAll(" +", " "))
                        .skip(1)
                        .toList())
                .containsExactly(
                        "growth-qps <= 1.50 1.250 holds 2.000 misses the opposite",
                        "growth-size <= 1.50 1.750 misses 1.750 misses",
                        "growth-connections <= 1.50 not there 1.000 holds",
                        "1 of 3 verdicts are the opposite of those in " + file + ", measured 2026-01-31T23:59:59Z");
    }

    @Test
    void anEarlierRunIsJudgedByTheTargetsOfToday() throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        Path file = write(steady("mckey", 2));
        ObjectNode json = (ObjectNode) mapper.readTree(file.toFile());
        ((ObjectNode) json.path("rows").get(0))
                .put("target", 3)
                .put("holds", false)
                .put("verdict", "misses");
        mapper.writeValue(file.toFile(), json);

        Comparison comparison = Comparison.read(file);

        assertThat(comparison.contradictions(report(List.of(steady("mckey", 2)))))
                .isZero();
        assertThat(comparison.contradictions(report(List.of(steady("mckey", 0.5)))))
                .isEqualTo(1);
    }

    @Test
    void rowsThatThereAreNoMoreArePassedOver() throws Exception {
        Path file = Files.writeString(folder.resolve("old.json"), """
                {"rows": [{"name": "ud-lat-64", "pairs": []}, {"name": "mckey", "pairs": [{"theirs": 2, "ours": 4}]}]}
                """);

        List<String> lines = Comparison.read(file).lines(report(List.of(steady("mckey", 2))));

        assertThat(lines).element(1).asString().contains("2.000 undecided");
        // Nor does a file of before say when it was measured.
        assertThat(lines.getLast()).endsWith("are the opposite of those in " + file);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{\"rows\": 1}",
                "{\"rows\": [{\"name\"",
                "{\"rows\": [{\"name\": \"mckey\"}]}",
                "{\"rows\": [{\"name\": \"mckey\", \"pairs\": [{\"theirs\": 0, \"ours\": 1}]}]}",
                "{\"rows\": [{\"name\": \"mckey\", \"pairs\": [{\"theirs\": 1}]}]}",
                "{\"rows\": [{\"name\": \"mckey\", \"pairs\": [{\"theirs\": 1, \"ours\": 1}], \"jvms\": [{\"pairs\": \"x\"}]}]}",
                "{\"rows\": [], \"growth\": [{\"name\": \"growth-qps\", \"points\": [{\"work\": 1}]}]}",
                "{\"rows\": [], \"growth\": [{\"name\": \"growth-qps\", \"points\": []}]}"
            })
    void whatIsNoResultOfABenchIsToldSo(String text) throws Exception {
        Path file = Files.writeString(folder.resolve("broken.json"), text);

        assertThatThrownBy(() -> Comparison.read(file))
                .isExactlyInstanceOf(IOException.class)
                .hasMessageStartingWith(file + " is not the JSON of a bench: ");
    }

    @Test
    void aFileThatIsNotThereIsNoBrokenOne() {
        assertThatThrownBy(() -> Comparison.read(folder.resolve("none.json")))
                .isInstanceOf(FileNotFoundException.class);
    }
}
