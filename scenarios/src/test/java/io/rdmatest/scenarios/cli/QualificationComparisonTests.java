package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import io.rdmatest.ExitStatus;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsWriter;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.nights.QualificationComparison.Change;
import io.rdmatest.report.nights.QualificationComparison.Finding;
import io.rdmatest.report.nights.QualificationComparison.Shift;
import io.rdmatest.report.nights.QualificationComparison.Turn;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QualificationComparisonTests {

    private static final String ENVIRONMENT = "\"kernel\": \"6.1\", \"firmware\": \"1.0\"";

    @TempDir
    private Path folder;

    private static String scenario(String name, String verdict, String... measurements) {
        return """
                {"name": "%s", "verdict": "%s", "reason": %s, "device": "rxe0", "parameters": {},
                 "measurements": {%s}, "bytesVerified": 1, "durationMillis": 2}
                """.formatted(
                        name,
                        verdict,
                        verdict.equals("passed") ? "null" : "\"a null because\"",
                        String.join(", ", measurements));
    }

    private static String value(String name, double value, String unit) {
        int percentile = name.lastIndexOf(" p");
        return "\"%s\": {\"value\": %s, \"unit\": \"%s\", %s}"
                .formatted(
                        name,
                        value,
                        unit,
                        unit.endsWith("/s")
                                ? "\"kind\": \"rate\", \"better\": \"higher\""
                                : percentile < 0
                                        ? "\"kind\": \"duration\", \"better\": \"lower\""
                                        : "\"kind\": \"percentile\", \"better\": \"lower\", \"percentile\": "
                                                + name.substring(percentile + 2));
    }

    private Path file(String name, String environment, String... scenarios) throws IOException {
        return Files.writeString(
                folder.resolve(name),
                "{\"schemaVersion\": 3, \"environment\": {%s}, \"scenarios\": [%s]}"
                        .formatted(environment, String.join(",", scenarios)));
    }

    private QualificationComparison compare(String before, String after) throws IOException {
        return new QualificationComparison(
                List.of(Qualification.read(file("before.json", ENVIRONMENT, before))),
                Qualification.read(file("after.json", ENVIRONMENT, after)),
                14,
                0.2);
    }

    @ParameterizedTest
    @CsvSource({
        "passed, failed, WORSE",
        "passed, broken, WORSE",
        "passed, skipped, WORSE",
        "skipped, failed, WORSE",
        "skipped, broken, WORSE",
        "failed, passed, BETTER",
        "broken, passed, BETTER",
        "skipped, passed, BETTER",
        "failed, broken, OTHER",
        "failed, skipped, OTHER"
    })
    void aVerdictThatChangedIsToldWithItsDirection(String before, String after, Change change) throws IOException {
        QualificationComparison comparison = compare(scenario("x", before), scenario("x", after));

        assertThat(comparison.turns())
                .containsExactly(new Turn(
                        change,
                        "x",
                        before,
                        after,
                        after.equals("passed") ? "" : "a null because",
                        before.equals("passed") ? 1 : 0,
                        false));
        assertThat(comparison.count(Change.WORSE)).isEqualTo(change == Change.WORSE ? 1 : 0);
        assertThat(compare(scenario("x", before), scenario("x", before)).turns())
                .isEmpty();
    }

    @Test
    void whatIsNotShownAnyMoreIsWorseAndWhatIsNewIsNot() throws IOException {
        String both = scenario("x", "passed");

        assertThat(compare(both + "," + scenario("y", "passed"), both).turns())
                .containsExactly(new Turn(Change.WORSE, "y", "passed", "not there", "", 1, false));
        assertThat(compare(both + "," + scenario("y", "skipped"), both).count(Change.WORSE))
                .isZero();
        assertThat(compare(both, both + "," + scenario("y", "passed")).turns())
                .containsExactly(new Turn(Change.OTHER, "y", "not there", "passed", "", 0, false));
        assertThat(compare(both, both + "," + scenario("y", "failed")).count(Change.WORSE))
                .isEqualTo(1);
        // Of the same name, one after the other.
        assertThat(compare(both + "," + both, both + "," + scenario("x", "failed"))
                        .turns())
                .extracting(Turn::scenario)
                .containsExactly("x (2)");
    }

    @Test
    void cellsThatAreDrawnAnewAreOthersAndNotLost() throws IOException {
        Path before = file(
                "b.json",
                "\"interoperability\": \"10 cells, rdma.interop.seed=1\"",
                scenario("Interoperability: rping, a", "passed"),
                scenario("Interoperability: rping, b", "passed"));
        Path after = file(
                "a.json",
                "\"interoperability\": \"10 cells, rdma.interop.seed=2\"",
                scenario("Interoperability: rping, a", "passed"),
                scenario("Interoperability: rping, c", "failed"));

        QualificationComparison comparison =
                new QualificationComparison(List.of(Qualification.read(before)), Qualification.read(after), 14, 0.2);

        assertThat(comparison.turns()).isEmpty();
        assertThat(comparison.facts()).isEmpty();
        assertThat(comparison.lines())
                .contains("2 cells of the interoperability matrix are in one of the runs only:"
                        + " each run drew its own (set rdma.interop.seed to repeat a draw)");
        assertThat(new QualificationComparison(List.of(Qualification.read(before)), Qualification.read(before), 14, 0.2)
                        .lines())
                .noneMatch(line -> line.contains("each run drew its own"));
    }

    @Test
    void mediansAndRatesAreHeldAgainstTheToleranceAndSingleTimesAndTailsAgainstMore() throws IOException {
        QualificationComparison comparison = compare(
                scenario(
                        "x",
                        "passed",
                        value("round trip p50", 10, "us"),
                        value("steady p50", 10, "us"),
                        value("quick p50", 10, "us"),
                        value("round trip p99", 10, "us"),
                        value("connect", 10, "us"),
                        value("throughput", 10, "Gb/s"),
                        value("faster", 10, "MiB/s"),
                        value("gone p50", 10, "us"),
                        value("other p50", 10, "us")),
                scenario(
                        "x",
                        "passed",
                        value("round trip p50", 12.5, "us"),
                        value("steady p50", 11.9, "us"),
                        value("quick p50", 5, "us"),
                        value("round trip p99", 99, "us"),
                        value("connect", 99, "us"),
                        value("throughput", 4, "Gb/s"),
                        value("faster", 13, "MiB/s"),
                        value("other p50", 99, "ns")));

        // The worst first.
        assertThat(comparison.shifts())
                .containsExactly(
                        new Shift(Change.WORSE, Finding.MISSING, "x", "gone p50", "us", 10, 10, 10, null, List.of()),
                        new Shift(Change.WORSE, Finding.LEVEL, "x", "throughput", "Gb/s", 10, 10, 10, 4.0, List.of()),
                        new Shift(
                                Change.WORSE, Finding.LEVEL, "x", "round trip p50", "us", 10, 10, 10, 12.5, List.of()),
                        new Shift(Change.BETTER, Finding.LEVEL, "x", "quick p50", "us", 10, 10, 10, 5.0, List.of()),
                        new Shift(Change.BETTER, Finding.LEVEL, "x", "faster", "MiB/s", 10, 10, 10, 13.0, List.of()));
        assertThat(comparison.summary())
                .isEqualTo(
                        "3 worse, 2 better (verdicts changed: 0 of 1; measurements changed: 5 of 8; tolerance: 20 %)");
        assertThat(comparison.lines())
                .contains("  worse   x: round trip p50 10.0 -> 12.5 us (1.25 times)")
                .contains("  worse   x: throughput 10.0 -> 4.000 Gb/s (0.40 times)")
                .contains("  worse   x: gone p50 10.0 us -> missing")
                .contains("Not compared: 1 measurements, which had another unit before");
    }

    /** Three runs in which a median was 10, 30 and 20 us and a rate 10, 30 and 20 Gb/s, and one more. */
    private QualificationComparison compareWithThree(String verdict, double median, double rate) throws IOException {
        List<Qualification> runs = new ArrayList<>();
        for (double each : new double[] {10, 30, 20, 0}) {
            boolean last = each == 0;
            runs.add(Qualification.read(file(
                    runs.size() + ".json",
                    ENVIRONMENT,
                    scenario(
                            "x",
                            last ? verdict : each == 30 ? "failed" : "passed",
                            value("a p50", last ? median : each, "us"),
                            value("b", last ? rate : each, "Gb/s")))));
        }
        return new QualificationComparison(runs.subList(0, 3), runs.getLast(), 14, 0.2);
    }

    @Test
    void ofSeveralRunsOnlyWhatIsBeyondAllThatItWasHasChanged() throws IOException {
        // Half again as much as the median, but that was there before.
        assertThat(compareWithThree("passed", 29, 29).shifts()).isEmpty();
        assertThat(compareWithThree("passed", 11, 11).shifts()).isEmpty();
        // More than ever, but by less than the tolerance.
        assertThat(compareWithThree("passed", 20, 20).shifts()).isEmpty();

        QualificationComparison worse = compareWithThree("passed", 32, 8);
        assertThat(worse.shifts())
                .containsExactly(
                        new Shift(Change.WORSE, Finding.LEVEL, "x", "b", "Gb/s", 20, 10, 30, 8.0, List.of()),
                        new Shift(Change.WORSE, Finding.LEVEL, "x", "a p50", "us", 20, 10, 30, 32.0, List.of()));
        assertThat(worse.lines())
                .contains(
                        "before: 3 runs, of which the latest is " + folder.resolve("2.json") + ", 1 scenario: 1 passed")
                .contains("  worse   x: a p50 20.0 (10.0 to 30.0) -> 32.0 us (1.60 times)");
        assertThat(worse.json().get("before").toString()).contains("0.json", "1.json", "2.json");

        assertThat(compareWithThree("passed", 8, 32).shifts())
                .extracting(Shift::change)
                .containsExactly(Change.BETTER, Change.BETTER);
    }

    @Test
    void ofSeveralRunsTheLatestVerdictCountsAndTheOthersAreTold() throws IOException {
        assertThat(compareWithThree("passed", 20, 20).turns()).isEmpty();

        QualificationComparison worse = compareWithThree("failed", 20, 20);

        assertThat(worse.turns())
                .containsExactly(new Turn(Change.WORSE, "x", "passed", "failed", "a null because", 2, false));
        assertThat(worse.lines())
                .contains("  worse   passed -> failed (passed in 2 of the 3 runs before)  x: a null because");
    }

    @Test
    void whatAnEarlierRunDoesNotHaveIsLeftOutOfIt() throws IOException {
        String now = scenario("x", "passed", value("a p50", 50, "us"));
        List<Qualification> runs = List.of(
                Qualification.read(file("1.json", ENVIRONMENT, scenario("gone", "passed"))),
                Qualification.read(file("2.json", ENVIRONMENT, scenario("x", "skipped"))),
                Qualification.read(file("3.json", ENVIRONMENT, scenario("x", "passed", value("a p50", 9, "ns")))),
                Qualification.read(file("4.json", ENVIRONMENT, scenario("x", "passed", value("a p50", 10, "us")))),
                Qualification.read(file("5.json", ENVIRONMENT, scenario("x", "passed"))));

        QualificationComparison comparison =
                new QualificationComparison(runs, Qualification.read(file("6.json", ENVIRONMENT, now)), 14, 0.2);

        assertThat(comparison.turns()).as("it was not there last time either").isEmpty();
        assertThat(comparison.shifts())
                .containsExactly(
                        new Shift(Change.WORSE, Finding.LEVEL, "x", "a p50", "us", 10, 10, 10, 50.0, List.of()));
        assertThat(runs.getFirst().only(Set.of("x")).scenarios()).isEmpty();
    }

    private QualificationComparison runAgain(String... again) throws IOException {
        return runTwice("passed", "passed", again);
    }

    private QualificationComparison runTwice(String before, String after, String... again) throws IOException {
        List<Qualification> runs = new ArrayList<>();
        for (String each : again) {
            runs.add(Qualification.read(file("again.json", ENVIRONMENT, each)));
        }
        return new QualificationComparison(
                List.of(Qualification.read(
                        file("1.json", ENVIRONMENT, scenario("x", before, value("a p50", 10, "us"))))),
                Qualification.read(file("2.json", ENVIRONMENT, scenario("x", after, value("a p50", 20, "us")))),
                runs,
                14,
                0.2);
    }

    private static String again(double median) {
        return scenario("x", "passed", value("a p50", median, "us"));
    }

    @Test
    void whatIsRunAgainIsWorseOnlyIfItIsEachTime() throws IOException {
        assertThat(runAgain(again(19), again(13)).shifts())
                .containsExactly(new Shift(
                        Change.WORSE, Finding.LEVEL, "x", "a p50", "us", 10, 10, 10, 20.0, List.of(19.0, 13.0)));
        assertThat(runAgain(again(19), again(13)).lines())
                .contains("  worse   x: a p50 10.0 -> 20.0 us (2.00 times), again 19.0, 13.0");

        QualificationComparison settled = runAgain(again(19), again(11));
        assertThat(settled.shifts()).isEmpty();
        assertThat(settled.count(Change.WORSE)).isZero();
        assertThat(settled.summary())
                .isEqualTo("0 worse, 0 better (verdicts changed: 0 of 1; measurements changed: 0 of 1; tolerance: 20 %;"
                        + " worse, but not in every repetition: 1)");
        assertThat(settled.json()).containsEntry("notEachTime", 1);
        assertThat(runAgain(again(5)).shifts()).as("not better by that").isEmpty();
        assertThat(runAgain(scenario("y", "passed")).shifts())
                .as("it was not there")
                .hasSize(1);
    }

    @Test
    void whatFailsWhenItIsRunAgainIsWorse() throws IOException {
        QualificationComparison comparison = runAgain(again(19), scenario("x", "failed"), scenario("x", "broken"));

        assertThat(comparison.turns())
                .containsExactly(new Turn(Change.WORSE, "x", "passed", "failed", "a null because", 1, true));
        assertThat(comparison.lines()).contains("  worse   passed -> failed when run again  x: a null because");
        assertThat(comparison.shifts()).as("what it measured stands").hasSize(1);
        assertThat(runTwice("passed", "failed", scenario("x", "failed")).turns())
                .as("it is told once")
                .containsExactly(new Turn(Change.WORSE, "x", "passed", "failed", "a null because", 1, false));
        assertThat(runTwice("failed", "passed", scenario("x", "failed")).turns())
                .as("it passes now and then")
                .containsExactly(
                        new Turn(Change.BETTER, "x", "failed", "passed", "", 0, false),
                        new Turn(Change.OTHER, "x", "failed", "failed", "a null because", 0, true));
    }

    private static int run(StringWriter out, StringWriter err, Object... words) {
        String[] arguments = Stream.of(words).map(Object::toString).toArray(String[]::new);
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), arguments);
    }

    @Test
    void theCommandTellsTheEnvironmentTheVerdictsAndTheMeasurements() throws IOException {
        Path before = file("before.json", ENVIRONMENT, scenario("x", "passed", value("a p50", 1, "us")));
        Path after = file(
                "after.json",
                "\"kernel\": \"6.12\", \"firmware\": \"1.0\"",
                scenario("x", "skipped", value("a p50", 2, "us")));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();

        assertThat(run(out, err, "compare", before, after)).isEqualTo(ExitStatus.WORSE.code());
        assertThat(out.toString().lines())
                .containsExactly(
                        "before: " + before + ", 1 scenario: 1 passed",
                        "after:  " + after + ", 1 scenario: 1 skipped",
                        "Environment",
                        "  kernel: 6.1 -> 6.12",
                        "Verdicts",
                        "  worse   passed -> skipped  x: a null because",
                        "Measurements",
                        "  worse   x: a p50 1.000 -> 2.000 us (2.00 times)",
                        "2 worse, 0 better (verdicts changed: 1 of 1; measurements changed: 1 of 1; tolerance: 20 %)");
        assertThat(err.toString()).contains("2 worse, 0 better");

        StringWriter json = new StringWriter();
        assertThat(run(json, err, "compare", before, after, "--json")).isEqualTo(ExitStatus.WORSE.code());
        JsonNode told = new ObjectMapper().readTree(json.toString());
        assertThat(mistakes(told)).isEmpty();
        assertThat(told.path("worse").asInt()).isEqualTo(2);
        assertThat(told.path("before").path(0).asText()).isEqualTo(before.toString());
        assertThat(told.path("verdicts").path(0).path("after").asText()).isEqualTo("skipped");
        assertThat(told.path("verdicts").path(0).path("change").asText()).isEqualTo("worse");
        assertThat(told.path("measurements").path(0).path("before").asDouble()).isEqualTo(1);
        assertThat(told.path("environment").path(0).path("name").asText()).isEqualTo("kernel");

        assertThat(run(out, err, "compare", before, before)).isZero();
        assertThat(run(out, err, "compare", before, after, after)).isZero();
        assertThat(run(out, err, "compare", "--tolerance", "0", before, before)).isZero();
    }

    @Test
    void aRehearsalIsNotComparedWithARunOnHardware() throws Exception {
        Path night = file("night.json", ENVIRONMENT, scenario("x", "passed"));
        Path rehearsal = file("rehearsal.json", ENVIRONMENT + ", \"machine\": \"a\"", scenario("x", "failed"));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();

        assertThat(run(out, err, "compare", night, rehearsal)).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("Not compared: 1 earlier run is no rehearsal, and this run is one.");

        assertThat(run(out, err, "compare", rehearsal, night, night)).isZero();
        assertThat(out.toString())
                .contains(
                        "Not compared: 1 earlier run is a rehearsal, and this run is none.", "before: " + night + ", ");
    }

    /** A run of version 3 in which one scenario measured a rate. */
    private Qualification pairs(String id, String settings, double rate) throws IOException {
        return Qualification.of(Path.of("run.json"), new ObjectMapper().readTree("""
                {"schemaVersion": 3, "environment": {}, "settings": {%s}, "scenarios": [{"id": "%s", "name": "pairs",
                 "verdict": "passed", "measurements": {
                 "bandwidth median": {"value": %s, "unit": "Gb/s", "kind": "rate", "better": "higher"}}}]}
                """.formatted(settings, id, rate)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"rdma.pairs.directions\": \"both\"",
                "\"rdma.pairs.qps\": \"8\"",
                "\"rdma.pairs.size\": \"4096\"",
                "\"rdma.pairs.operation\": \"read\""
            })
    void measurementsOfAllPairsAreComparedWithRunsOfTheSameSettings(String settings) throws IOException {
        String id = "PairScenarios.allPairs";
        Qualification now = pairs(id, settings, 50);

        QualificationComparison others =
                new QualificationComparison(List.of(pairs(id, "", 90), pairs(id, "", 91)), now, 14, 0.2);
        assertThat(others.shifts()).isEmpty();
        assertThat(others.lines())
                .contains("Not compared: measurements of all pairs in 2 earlier runs, which had other settings"
                        + " (rdma.pairs.qps, rdma.pairs.size, rdma.pairs.operation, rdma.pairs.directions)");

        // The latest of the same settings, also where others lie between.
        QualificationComparison same =
                new QualificationComparison(List.of(pairs(id, settings, 90), pairs(id, "", 50)), now, 1, 0.2);
        assertThat(same.shifts())
                .extracting(Shift::change, Shift::before, Shift::after)
                .containsExactly(tuple(Change.WORSE, 90.0, 50.0));
        assertThat(same.json().get("history").toString()).contains("values=[90.0, null, 50.0]");

        // Repetitions are of the same run, and need not say how it was set.
        assertThat(new QualificationComparison(
                                List.of(pairs(id, settings, 90)), now, List.of(pairs(id, "", 89)), 14, 0.2)
                        .shifts())
                .isEmpty();
        // Other scenarios do not hang on these settings.
        assertThat(new QualificationComparison(List.of(pairs("X.y", "", 90)), pairs("X.y", settings, 50), 14, 0.2)
                        .shifts())
                .hasSize(1);
    }

    @Test
    void aMeasurementOfAllPairsIsMissedOnlyIfRunsOfTheSameSettingsHaveIt() throws IOException {
        String id = "PairScenarios.allPairs";
        String both = "\"rdma.pairs.directions\": \"both\"";
        Qualification without = Qualification.of(
                Path.of("now.json"),
                new ObjectMapper()
                        .readTree("{\"schemaVersion\": 3, \"environment\": {}, \"settings\": {" + both
                                + "}, \"scenarios\": [{\"id\": \"" + id
                                + "\", \"name\": \"pairs\", \"verdict\": \"passed\", \"measurements\": {}}]}"));

        assertThat(new QualificationComparison(List.of(pairs(id, "", 90)), without, 14, 0.2).shifts())
                .isEmpty();
        assertThat(new QualificationComparison(List.of(pairs(id, both, 90)), without, 14, 0.2).shifts())
                .extracting(Shift::finding)
                .containsExactly(Finding.MISSING);
    }

    /** A night with {@code --pairs=latency} after full ones. */
    @ParameterizedTest
    @CsvSource({"'latency', 0", "'latency,rate', 0", "'latency,bandwidth', 1", "'', 1"})
    void whatARunWasNotAskedToMeasureOfPairsIsNotMissed(String asked, int missing) throws IOException {
        String id = "PairScenarios.allPairs";
        String settings = asked.isEmpty() ? "" : "\"rdma.pairs.measure\": \"" + asked + "\"";
        Qualification now = Qualification.of(
                Path.of("now.json"),
                new ObjectMapper()
                        .readTree("{\"schemaVersion\": 3, \"environment\": {}, \"settings\": {" + settings
                                + "}, \"scenarios\": [{\"id\": \"" + id
                                + "\", \"name\": \"pairs\", \"verdict\": \"passed\", \"measurements\": {}}]}"));

        assertThat(new QualificationComparison(List.of(pairs(id, "", 90)), now, 14, 0.2).shifts())
                .hasSize(missing);
    }

    /** An archived run, with a cell of each way between two nodes. */
    private Path archived(String name, double bandwidth) throws IOException {
        Path run = Files.createDirectories(folder.resolve("archive").resolve(name));
        try (PairsWriter writer = PairsWriter.create(run.resolve("pairs.jsonl"))) {
            for (String from : List.of("a", "b")) {
                double none = Double.NaN;
                writer.write(new PairLine(
                        "rail0",
                        from,
                        from.equals("a") ? "b" : "a",
                        null,
                        null,
                        1,
                        PairLine.Outcome.MEASURED,
                        null,
                        100e9,
                        from.equals("a") ? bandwidth : 96e9,
                        none,
                        none,
                        none,
                        0,
                        0,
                        1,
                        false,
                        null,
                        null,
                        PairLine.Counters.NONE));
            }
        }
        return file("archive/" + name + "/qualification.json", ENVIRONMENT, scenario("x", "passed"));
    }

    @Test
    void pairsBesideTheSummariesAreComparedToo() throws IOException {
        for (int night = 1; night < 4; night++) {
            Path ignored = archived("2026-11-0" + night, 96e9);
        }
        Path archive = folder.resolve("archive");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        assertThat(run(out, err, "compare", archive)).isZero();
        assertThat(out.toString()).contains("None of 2 cells is worse than in the 2 runs before.");

        Path slow = archived("2026-11-04", 41e9);
        out = new StringWriter();
        assertThat(run(out, err, "compare", archive)).isEqualTo(ExitStatus.WORSE.code());
        assertThat(out.toString())
                .contains("1 of 2 cells is worse than in the 3 runs before.")
                .contains("  a -> b on rail0: bandwidth 96.00 (96.00 to 96.00) -> 41.00 Gb/s (0.43 times)");

        out = new StringWriter();
        assertThat(run(out, err, "compare", "--json", archive)).isEqualTo(ExitStatus.WORSE.code());
        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertThat(json.at("/cells/worse").asInt()).isEqualTo(1);
        assertThat(json.at("/cells/cells/0/to").asText()).isEqualTo("b");
        assertThat(mistakes(json)).isEmpty();

        // Of a file with another name, nobody knows whose pairs are beside it.
        Path renamed = Files.copy(slow, slow.resolveSibling("other.json"));
        out = new StringWriter();
        assertThat(run(out, err, "compare", archive.resolve("2026-11-01/qualification.json"), renamed))
                .isZero();
        assertThat(out.toString()).doesNotContain("cell");

        Files.writeString(slow.resolveSibling("pairs.jsonl"), "{}\n{}\n");
        assertThat(run(out, err, "compare", archive)).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("pairs.jsonl:1 is no cell of a pairs.jsonl");
    }

    private static Set<ValidationMessage> mistakes(JsonNode json) throws IOException {
        try (InputStream schema = QualificationComparison.class.getResourceAsStream("comparison.schema.json")) {
            return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                    .getSchema(Objects.requireNonNull(schema))
                    .validate(json);
        }
    }

    @Test
    void whatIsMissingOrNotThereKeepsTheSchema() throws IOException {
        QualificationComparison comparison = compare(
                scenario("x", "passed", value("a p50", 1, "us"), value("b", 2, "Gb/s")) + "," + scenario("y", "passed"),
                scenario("x", "passed", value("b", 1, "Gb/s")) + "," + scenario("z", "failed"));

        assertThat(comparison.turns()).hasSize(2);
        assertThat(comparison.shifts()).hasSize(2);
        assertThat(mistakes(new ObjectMapper().valueToTree(comparison.json()))).isEmpty();
    }

    @Test
    void ofAFolderTheFilesGoByTheirNames() throws IOException {
        Path nights = Files.createDirectory(folder.resolve("nights"));
        Files.writeString(nights.resolve("2026-11-23.log"), "no run");
        StringWriter err = new StringWriter();
        assertThat(run(new StringWriter(), err, "compare", nights, nights)).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("A comparison needs two runs, not 0");
        for (String[] night : new String[][] {{"25", "failed"}, {"23", "passed"}, {"24", "skipped"}}) {
            file("nights/2026-11-" + night[0] + ".json", ENVIRONMENT, scenario("x", night[1]));
        }
        Path now = file("now.json", ENVIRONMENT, scenario("x", "passed"));

        assertThat(Qualification.readAll(
                        List.of(now, nights), 9, note -> assertThat(note).isNull()))
                .extracting(run -> run.file().getFileName().toString())
                .containsExactly("now.json", "2026-11-23.json", "2026-11-24.json", "2026-11-25.json");
        StringWriter out = new StringWriter();
        assertThat(run(out, err, "compare", nights, now)).isZero();
        assertThat(out.toString()).contains("better  failed -> passed (passed in 1 of the 3 runs before)");
        // The latest of a folder alone, against the others.
        assertThat(run(out, err, "compare", nights)).isEqualTo(ExitStatus.WORSE.code());
        assertThat(out.toString()).contains("worse   skipped -> failed (passed in 1 of the 2 runs before)");

        Path broken = Files.writeString(nights.resolve("comparison.json"), "{}");
        out = new StringWriter();
        assertThat(run(out, err, "compare", nights, now)).isZero();
        assertThat(out.toString())
                .startsWith("Left out: " + broken + " is no qualification.json: ")
                .contains("3 runs, of which the latest is ");
        assertThat(run(out, err, "compare", broken, now)).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains(broken + " is no qualification.json");
    }

    @Test
    void whatIsNoQualificationIsRefused() throws IOException {
        Path good = file("good.json", ENVIRONMENT, scenario("x", "passed"));
        StringWriter err = new StringWriter();

        assertThat(run(new StringWriter(), err, "compare", good, folder.resolve("none.json")))
                .isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains(folder.resolve("none.json") + " can't be read: there is no such file");
        assertThat(run(new StringWriter(), err, "compare", good)).isEqualTo(ExitStatus.USAGE.code());
        assertThat(run(new StringWriter(), err, "compare", good, good, "--tolerance", "-1"))
                .isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("--tolerance is 0 to 1000 percent, not -1.0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "{\"rows\": []}", "{\"scenarios\": []}", "{\"environment\"", "null"})
    void anotherFileIsNamed(String text) throws IOException {
        Path other = Files.writeString(folder.resolve("other.json"), text);
        assertThatThrownBy(() -> Qualification.read(other))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(other + " is no qualification.json: ");
    }
}
