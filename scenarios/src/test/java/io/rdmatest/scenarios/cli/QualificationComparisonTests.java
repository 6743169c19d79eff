package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.scenarios.cli.QualificationComparison.Change;
import io.rdmatest.scenarios.cli.QualificationComparison.Shift;
import io.rdmatest.scenarios.cli.QualificationComparison.Turn;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
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
        return "\"%s\": {\"value\": %s, \"unit\": \"%s\"}".formatted(name, value, unit);
    }

    private Path file(String name, String environment, String... scenarios) throws IOException {
        return Files.writeString(
                folder.resolve(name),
                "{\"environment\": {%s}, \"scenarios\": [%s]}".formatted(environment, String.join(",", scenarios)));
    }

    private QualificationComparison compare(String before, String after) throws IOException {
        return new QualificationComparison(
                Qualification.read(file("before.json", ENVIRONMENT, before)),
                Qualification.read(file("after.json", ENVIRONMENT, after)),
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
                .containsExactly(new Turn(change, "x", before, after, after.equals("passed") ? "" : "a null because"));
        assertThat(comparison.count(Change.WORSE)).isEqualTo(change == Change.WORSE ? 1 : 0);
        assertThat(compare(scenario("x", before), scenario("x", before)).turns())
                .isEmpty();
    }

    @Test
    void whatIsNotShownAnyMoreIsWorseAndWhatIsNewIsNot() throws IOException {
        String both = scenario("x", "passed");

        assertThat(compare(both + "," + scenario("y", "passed"), both).turns())
                .containsExactly(new Turn(Change.WORSE, "y", "passed", "not there", ""));
        assertThat(compare(both + "," + scenario("y", "skipped"), both).count(Change.WORSE))
                .isZero();
        assertThat(compare(both, both + "," + scenario("y", "passed")).turns())
                .containsExactly(new Turn(Change.OTHER, "y", "not there", "passed", ""));
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
                new QualificationComparison(Qualification.read(before), Qualification.read(after), 0.2);

        assertThat(comparison.turns()).isEmpty();
        assertThat(comparison.facts()).isEmpty();
        assertThat(comparison.lines())
                .contains("2 cells of the interoperability matrix are in one of the runs only:"
                        + " they were drawn anew (rdma.interop.seed)");
        assertThat(new QualificationComparison(Qualification.read(before), Qualification.read(before), 0.2).lines())
                .noneMatch(line -> line.contains("drawn anew"));
    }

    @Test
    void mediansAndRatesAreHeldAgainstTheToleranceAndNothingElseIs() throws IOException {
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
                        new Shift(Change.WORSE, "x", "throughput", "Gb/s", 10, 4),
                        new Shift(Change.WORSE, "x", "round trip p50", "us", 10, 12.5),
                        new Shift(Change.BETTER, "x", "quick p50", "us", 10, 5),
                        new Shift(Change.BETTER, "x", "faster", "MiB/s", 10, 13));
        assertThat(comparison.summary())
                .isEqualTo("2 worse, 2 better (changed verdicts: 0; medians and rates beyond 20 %: 4 of 5)");
        assertThat(comparison.lines())
                .contains("  worse   x: round trip p50 10.0 -> 12.5 us (1.25 times)")
                .contains("  worse   x: throughput 10.0 -> 4.000 Gb/s (0.40 times)");
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
                        "2 worse, 0 better (changed verdicts: 1; medians and rates beyond 20 %: 1 of 1)");
        assertThat(err.toString()).contains("2 worse, 0 better");

        StringWriter json = new StringWriter();
        assertThat(run(json, err, "compare", before, after, "--json")).isEqualTo(ExitStatus.WORSE.code());
        JsonNode told = new ObjectMapper().readTree(json.toString());
        assertThat(told.path("worse").asInt()).isEqualTo(2);
        assertThat(told.path("verdicts").path(0).path("after").asText()).isEqualTo("skipped");
        assertThat(told.path("environment").path(0).path("name").asText()).isEqualTo("kernel");

        assertThat(run(out, err, "compare", before, before)).isZero();
        assertThat(run(out, err, "compare", "--tolerance", "0", before, before)).isZero();
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
