package io.rdmatest.report.output;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.rdmatest.report.Forked;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.unsteady.UnsteadyScenarios;
import io.rdmatest.scenarios.qualify.Qualify;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BaselineTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final String UNSTEADY = UnsteadyScenarios.class.getPackageName();

    @TempDir
    private Path folder;

    private final List<String> said = new ArrayList<>();
    private String changes = "";

    private Path file(String name, String kernel, String... scenarios) throws IOException {
        return Files.writeString(
                folder.resolve(name),
                "{\"schemaVersion\": 3, \"environment\": {\"kernel\": \"%s\"}, \"scenarios\": [%s]}"
                        .formatted(kernel, String.join(",", scenarios)));
    }

    private static String scenario(String name, String verdict, double median) {
        return "{\"name\": \"%s\", \"verdict\": \"%s\", \"reason\": %s, \"measurements\": {\"round trip p50\": {\"value\": %s, \"unit\": \"us\", \"kind\": \"percentile\", \"percentile\": 50, \"better\": \"lower\"}}}"
                .formatted(name, verdict, verdict.equals("passed") ? "null" : "\"<it broke>\"", median);
    }

    private Baseline compare(boolean partial, Path now, Path... before) throws IOException {
        Baseline baseline = Objects.requireNonNull(Baseline.read(List.of(before), 14, 20, partial, said::add));
        assertThat(baseline.tell(said::add)).as("not compared yet").isZero();
        assertThat(said).isEmpty();
        changes = baseline.compare(Qualification.read(now), RunPairs.read(now.getParent(), null));
        return baseline;
    }

    @Test
    void whatIsWorseHasAPageBesideTheSummary() throws IOException {
        Path now = file("qualification.json", "6.12", scenario("x", "failed", 40), scenario("y", "passed", 10));

        Baseline baseline = compare(
                false,
                now,
                file("1.json", "6.0", scenario("x", "passed", 10), scenario("y", "passed", 30)),
                file("2.json", "6.1", scenario("x", "passed", 20), scenario("y", "passed", 20)));

        assertThat(baseline.tell(said::add)).isEqualTo(14);
        assertThat(changes)
                .isEqualTo("2 worse, 1 better"
                        + " (verdicts changed: 1 of 2; measurements changed: 2 of 2; tolerance: 20 %)");
        assertThat(Files.readString(folder.resolve("comparison.html")))
                .contains("<b>" + changes + "</b>")
                .contains("<td>kernel</td><td>6.1</td><td>6.12</td>")
                .contains("<tr class=\"worse\"><td>worse</td><td>x</td>"
                        + "<td>passed -&gt; failed (passed in 2 of the 2 runs before)</td><td>&lt;it broke&gt;</td>")
                .contains("<tr class=\"worse\"><td>worse</td><td>x</td><td>round trip p50</td>"
                        + "<td>15.0 (10.0 to 20.0) -&gt; 40.0 us (2.67 times)</td>")
                .contains("<tr class=\"better\"><td>better</td><td>y</td>")
                .contains("2 runs, of which the latest is " + folder.resolve("2.json"));
        JsonNode json = MAPPER.readTree(folder.resolve("comparison.json").toFile());
        assertThat(json.path("worse").asInt()).isEqualTo(2);
        assertThat(json.path("after").asText()).isEqualTo(now.toString());
        assertThat(json.at("/measurements/0/lowest").asDouble()).isEqualTo(10);
        assertThat(json.at("/measurements/0/finding").asText()).isEqualTo("level");
        assertThat(json.at("/history/runs")).hasSize(3);
        assertThat(json.at("/history/series/0/scenario").asText()).isEqualTo("x");
        assertThat(json.at("/history/series/0/values")).hasToString("[10.0,20.0,40.0]");
    }

    @Test
    void whatIsAsBeforeOrBetterPasses() throws IOException {
        Path before = file("1.json", "6.1", scenario("x", "passed", 20));

        Baseline baseline = compare(false, file("qualification.json", "6.1", scenario("x", "passed", 10)), before);

        assertThat(baseline.tell(said::add)).isZero();
        assertThat(changes).startsWith("0 worse, 1 better");
    }

    @Test
    void whatCannotBeComparedIsSaidAndIsNoSuccess() throws IOException {
        Path before = file("1.json", "6.1", scenario("x", "passed", 20));

        Baseline other = compare(false, file("qualification.json", "6.1"), file("2.json", "6.1"));
        assertThat(other.tell(said::add)).isEqualTo(15);
        assertThat(changes).startsWith("nothing was compared");
        said.clear();
        Path taken = folder.resolve("comparison.json");
        Files.delete(taken);
        Path ignored = Files.createDirectories(taken.resolve("not empty"));
        Baseline none = compare(false, file("qualification.json", "6.1"), before);
        assertThat(none.tell(said::add)).isEqualTo(3);
        assertThat(said)
                .singleElement()
                .asString()
                .startsWith("not compared with earlier runs: ")
                .contains(taken.toString());
    }

    @Test
    void ofSomeScenariosTheOthersAreNotMissed() throws IOException {
        Path now = file("qualification.json", "6.1", scenario("x", "passed", 20));
        Path before = file("1.json", "6.1", scenario("x", "passed", 20), scenario("y", "passed", 20));

        assertThat(compare(true, now, before).tell(said::add)).isZero();
        said.clear();
        assertThat(compare(false, now, before).tell(said::add)).isEqualTo(14);
        assertThat(said).contains("  worse   passed -> not there  y");
    }

    private Path rehearsal(String name, double median) throws IOException {
        return Files.writeString(
                folder.resolve(name),
                "{\"schemaVersion\": 3, \"environment\": {\"machine\": \"a\"}, \"scenarios\": [%s]}"
                        .formatted(scenario("x", "passed", median)));
    }

    @Test
    void aRehearsalIsComparedWithRehearsalsOnly() throws IOException {
        Path night = file("1.json", "6.1", scenario("x", "passed", 1));
        Path rehearsed = rehearsal("2.json", 20);

        Path now = rehearsal("qualification.json", 20);
        assertThat(compare(false, now, night, rehearsed).tell(said::add)).isZero();
        assertThat(said).contains("Not compared: 1 earlier run is no rehearsal, and this run is one.");
        said.clear();
        assertThat(compare(false, now, night).tell(said::add)).isEqualTo(15);
        said.clear();

        Path onHardware = file("qualification.json", "6.1", scenario("x", "passed", 1));
        assertThat(compare(false, onHardware, night, rehearsed).tell(said::add)).isZero();
        assertThat(said).contains("Not compared: 1 earlier run is a rehearsal, and this run is none.");
        said.clear();
        assertThat(compare(false, onHardware, rehearsed).tell(said::add)).isEqualTo(15);
    }

    @Test
    void aPartialRunInAnArchiveSaysNothingOfWhatIsUsual() throws IOException {
        Path nights = Files.createDirectory(folder.resolve("nights"));
        Path part = Files.writeString(
                nights.resolve("2.json"),
                "{\"schemaVersion\": 3, \"environment\": {}, \"selected\": {\"patterns\": [\"x\"]}, \"scenarios\": [%s]}"
                        .formatted(scenario("x", "passed", 1)));
        Files.copy(file("1.json", "6.1", scenario("x", "passed", 20)), nights.resolve("1.json"));
        Path now = file("qualification.json", "6.1", scenario("x", "passed", 20));

        assertThat(compare(false, now, nights).tell(said::add)).isZero();
        said.clear();
        // One that is named is read.
        assertThat(compare(false, now, part).tell(said::add)).isEqualTo(14);
    }

    @Test
    void aBaselineOfWhichNothingCanBeReadComparesNothing() throws IOException {
        Path nights = Files.createDirectory(folder.resolve("nights"));
        Path broken = Files.writeString(nights.resolve("1.json"), "{");
        Path now = file("qualification.json", "6.1", scenario("x", "passed", 20));

        Baseline baseline = Objects.requireNonNull(Baseline.read(List.of(nights), 14, 20, false, said::add));

        assertThat(said).singleElement().asString().startsWith("Left out: " + broken + " is no qualification.json");
        said.clear();
        assertThat(baseline.compare(Qualification.read(now), RunPairs.read(now.getParent(), null)))
                .startsWith("Nothing was compared");
        assertThat(baseline.tell(said::add)).isEqualTo(15);
        assertThat(said)
                .containsExactly("Nothing was compared: no run in " + nights
                        + " can be used. Restore the summaries, or name others.");
    }

    /** A night of eight nodes: a port that receives at some share of the rate. */
    private Path night(String name, double share) throws IOException {
        Path run = Files.createDirectories(folder.resolve(name));
        StringBuilder cells = new StringBuilder();
        for (int from = 0; from < 8; from++) {
            for (int to = 0; to < 8; to++) {
                if (from != to) {
                    cells.append(
                            ("{\"schema\": \"pairs/1\", \"rail\": \"rail0\", \"from\": \"n%d\", \"to\": \"n%d\", \"attempts\": 1,"
                                            + " \"outcome\": \"measured\", \"lineRate\": 100e9, \"bandwidth\": %s, \"latencyP50\":"
                                            + " 3e-6, \"samples\": 200}%n")
                                    .formatted(from, to, 96e9 * (1 - (from + to) / 1000.0) * (to == 3 ? share : 1)));
                }
            }
        }
        Path ignored = Files.writeString(run.resolve("pairs.jsonl"), cells);
        return Files.writeString(
                run.resolve("qualification.json"),
                "{\"schemaVersion\": 3, \"environment\": {}, \"scenarios\": [%s]}"
                        .formatted(scenario("x", "passed", 10)));
    }

    @Test
    void cellsAreComparedAndTheCulpritHasItsNights() throws Exception {
        for (int i = 1; i <= 4; i++) {
            Path ignored = night("nights/" + i, 1);
        }
        Path now = night("now", 0.4);
        Path nights = folder.resolve("nights");
        Baseline baseline = Objects.requireNonNull(Baseline.read(List.of(nights), 14, 20, false, said::add));

        assertThat(baseline.compare(Qualification.read(now), RunPairs.read(now.getParent(), null)))
                .startsWith("7 of 56 cells are worse than in the 4 runs before. Scenarios: 0 worse, 0 better (");

        assertThat(baseline.tell(said::add)).isEqualTo(14);
        assertThat(said)
                .contains("7 of 56 cells are worse than in the 4 runs before.", "  7 of 7 into n3 on rail0")
                .anySatisfy(line -> assertThat(line).matches("  n\\d -> n3 on rail0: bandwidth .* \\(0.40 times\\)"));
        JsonNode json = MAPPER.readTree(now.resolveSibling("comparison.json").toFile());
        try (InputStream schema = QualificationComparison.class.getResourceAsStream("comparison.schema.json")) {
            assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                            .getSchema(schema)
                            .validate(json))
                    .isEmpty();
        }
        assertThat(json.at("/cells/worse").asInt()).isEqualTo(7);
        JsonNode culprit = json.at("/culprits/series/0");
        assertThat(culprit.path("name").asText()).isEqualTo("port n3 on rail0, receiving");
        assertThat(culprit.at("/values/3").asDouble()).isBetween(94.0, 96.0);
        assertThat(culprit.at("/values/4").asDouble()).isBetween(37.0, 39.0);
        assertThat(culprit.at("/others/4").asDouble()).isBetween(94.0, 96.0);
    }

    private record Ended(int status, String said) {}

    private static Ended qualify(Path project, String... arguments) throws Exception {
        return qualify("io.rdmatest.report.calm", project, arguments);
    }

    private static Ended qualify(String scenarios, Path project, String... arguments) throws Exception {
        List<String> options = Forked.qualifying(project, Forked.launcher(), scenarios);
        Path said = project.resolve("said");
        int status = Forked.java(said, options, Qualify.class.getName(), List.of(arguments));
        return new Ended(status, Files.readString(said));
    }

    private Ended generate(Path project, String baseline) throws Exception {
        Path target = project.resolve("reports/target");
        Path said = project.resolve("said");
        int status = Forked.java(
                said,
                List.of(),
                ReportGenerator.class.getName(),
                List.of(
                        "--journal=" + target.resolve("qualify-journal"),
                        "--results=" + target.resolve("qualify-results"),
                        "--commandline=" + Forked.commandline(),
                        "--output=" + folder.resolve("out"),
                        "--baseline=" + baseline));
        return new Ended(status, Files.readString(said));
    }

    @Test
    @Tag("slow")
    void aRunIsHeldAgainstItsPredecessorsWhoseFilesItReplaces() throws Exception {
        Path project = Files.createDirectory(folder.resolve("project"));
        Path target = Forked.project(project);
        Path summary = target.resolve("qualification.json");
        Path comparison = summary.resolveSibling("comparison.json");
        Path nights = Files.createDirectory(folder.resolve("nights"));
        Ended first = qualify(project, "--baseline", nights.toString());
        assertThat(first.status()).as(first.said()).isZero();
        assertThat(first.said())
                .contains("Nothing to compare with yet: " + nights + " has neither an archived run nor");
        assertThat(comparison).doesNotExist();

        Files.copy(summary, nights.resolve("1.json"));
        Ended same = qualify(project, "--baseline", summary.toString(), nights.toString());

        assertThat(same.status()).as(same.said()).isZero();
        assertThat(same.said()).contains("2 runs, of which the latest is " + nights.resolve("1.json"));
        assertThat(same.said()).contains("0 worse, 0 better");
        assertThat(comparison).exists();

        Path before = file(
                "before.json",
                "none",
                "{\"name\": \"Calm: passes\", \"verdict\": \"passed\", \"measurements\": {}}",
                scenario("Calm: was there", "passed", 1));
        Ended worse = qualify(project, "--baseline", before.toString(), summary.toString(), before.toString());

        assertThat(worse.status()).as(worse.said()).isEqualTo(14);
        assertThat(worse.said())
                .contains("worse   passed -> not there (passed in 2 of the 3 runs before)  Calm: was there")
                .contains("1 scenario: 1 passed");
        assertThat(target.resolve("allure-report/index.html")).isNotEmptyFile();
        assertThat(worse.said())
                .containsSubsequence(
                        "Page     " + target.resolve("index.html"),
                        "Report   " + target.resolve("allure-report/index.html"),
                        "Summary  " + summary);
        assertThat(Files.readString(target.resolve("index.html")))
                .contains("The one scenario that was judged passed.")
                .contains("passed → not there")
                .contains("so there is no heat map");
        assertThat(Forked.results(target.resolve("qualify-results")))
                .extracting(result -> result.path("name").asText() + " "
                        + result.path("status").asText())
                .as("the comparison is no test case")
                .containsExactly("passes passed");
        assertThat(Files.readString(target.resolve("comparison.html"))).contains("passed -&gt; not there");
        assertThat(Files.readString(target.resolve("qualify-results/environment.properties")))
                .contains("compared\\ with\\ earlier\\ runs=1 worse");

        Ended some = qualify(project, "--scenario", "Calm*", "--baseline", before.toString());
        assertThat(some.status()).as(some.said()).isZero();

        // As the build makes it, from what that run has left.
        Ended generated = generate(project, before + "," + before);
        assertThat(generated.status()).as(generated.said()).isZero();
        assertThat(generated.said())
                .contains("worse   passed -> not there (passed in 2 of the 2 runs before)  Calm: was there");
        assertThat(folder.resolve("out/comparison.json")).exists();
        assertThat(generated.said()).contains("page    " + folder.resolve("out/index.html"));
        assertThat(Files.readString(folder.resolve("out/index.html"))).contains("passed → not there");
        Ended alone = generate(project, "");
        assertThat(alone.status()).as(alone.said()).isZero();
        assertThat(alone.said()).doesNotContain("worse");
        assertThat(folder.resolve("out/comparison.json"))
                .as("that of the run before")
                .doesNotExist();
        assertThat(Files.readString(folder.resolve("out/index.html")))
                .contains("This run was not compared with earlier runs.");
        Ended wrong = generate(project, folder.resolve("none.json").toString());
        assertThat(wrong.status()).as(wrong.said()).isEqualTo(3);
        assertThat(wrong.said()).contains("not compared with earlier runs: --baseline: " + folder.resolve("none.json"));
        assertThat(folder.resolve("out/allure-report/index.html")).isNotEmptyFile();

        Ended none = qualify(project, "--baseline", folder.resolve("none.json").toString());
        assertThat(none.status()).isEqualTo(2);
        assertThat(none.said()).contains("--baseline: " + folder.resolve("none.json") + " can't be read");
        assertThat(summary).as("nothing was run that would replace it").exists();
        Ended few = qualify(project, "--last", "0", "--baseline", before.toString());
        assertThat(few.status()).isEqualTo(2);
        assertThat(few.said()).contains("--last is 1 to 1000 runs, not 0");
        Ended much = qualify(project, "--tolerance", "-1", "--baseline", before.toString());
        assertThat(much.status()).isEqualTo(2);
        assertThat(much.said()).contains("--tolerance is 0 to 1000 percent, not -1.0");
    }

    private Path night(Path archive, String name, String... scenarios) throws IOException {
        Path night = Files.createDirectories(archive.resolve(name));
        Path from = file(name + ".json", "none", scenarios);
        return Files.move(from, night.resolve("qualification.json"));
    }

    private static List<Path> nights(Path archive) throws IOException {
        try (Stream<Path> all = Files.list(archive)) {
            return all.sorted().toList();
        }
    }

    @Test
    void anArchiveKeepsEachNightAndIsTheBaselineOfTheNext() throws Exception {
        Path project = Files.createDirectory(folder.resolve("project"));
        Path target = Forked.project(project);
        Path archive = folder.resolve("archive");
        String[] nightly = {"--archive", archive.toString(), "--baseline", archive.toString()};

        Ended first = qualify(project, nightly);

        assertThat(first.status()).as(first.said()).isZero();
        assertThat(first.said()).contains("Nothing to compare with yet: " + archive + " has neither");
        Path kept = nights(archive).getLast();
        assertThat(first.said())
                .containsSubsequence(
                        "Nodes    " + target.resolve("nodes.json"),
                        "JUnit    " + target.resolve("junit.xml"),
                        "Metrics  " + target.resolve("rdmatest.prom"),
                        "Archive  " + kept);
        assertThat(kept.getFileName().toString()).matches("\\d{4}-\\d\\d-\\d\\dT\\d{6}\\.\\d{3}Z-[0-9a-f-]{36}");
        assertThat(nights(kept))
                .extracting(file -> file.getFileName().toString())
                .containsExactly("junit.xml", "nodes.json", "qualification.json", "rdmatest.prom");
        assertThat(kept.resolve("qualification.json")).hasSameTextualContentAs(target.resolve("qualification.json"));
        assertThat(Files.readString(target.resolve("rdmatest.prom"))).contains("rdmatest_exit_status{fabric=\"");

        // A night that had more, and one that nobody can read.
        Path had = night(archive, "9999-01-01T000000.000Z-a", scenario("Calm: was there", "passed", 1));
        Path broken = Files.createDirectory(archive.resolve("9999-01-02T000000.000Z-b"));
        Files.writeString(broken.resolve("qualification.json"), "{");
        Ended worse = qualify(project, nightly);

        assertThat(worse.status()).as(worse.said()).isEqualTo(14);
        assertThat(worse.said())
                .contains("Left out: " + broken.resolve("qualification.json") + " is no qualification.json: ")
                .contains("2 runs, of which the latest is " + had);
        assertThat(Files.readString(target.resolve("rdmatest.prom")))
                .containsPattern("rdmatest_exit_status\\{.*} 14\\.0");
        assertThat(nights(nights(archive).get(1)))
                .as("the comparison is kept as well")
                .extracting(file -> file.getFileName().toString())
                .contains("comparison.json", "comparison.html");

        Ended accepted = qualify(project, nightly[0], nightly[1], nightly[2], nightly[3], "--accept");

        assertThat(accepted.status()).as(accepted.said()).isZero();
        assertThat(accepted.said())
                .contains("worse   passed -> not there")
                .contains("Accepted: later runs are compared with this one and those after it only.");
        assertThat(nights(archive).get(2).resolve("accepted")).exists();
    }

    @Test
    void anArchiveThatCannotBeWrittenToIsToldBeforeAnythingRuns() throws Exception {
        Path project = Files.createDirectory(folder.resolve("project"));
        Path target = Forked.project(project);
        Path file = Files.writeString(folder.resolve("file"), "");

        Ended wrong = qualify(project, "--archive", file.toString());
        Ended alone = qualify(project, "--accept");

        assertThat(wrong.status()).as(wrong.said()).isEqualTo(2);
        assertThat(wrong.said().lines())
                .containsExactly("./qualify: --archive " + file + " can't be written to: " + file
                        + " is a file. Name a folder.");
        assertThat(alone.status()).as(alone.said()).isEqualTo(2);
        assertThat(alone.said()).contains("--accept marks this run in an archive: name the folder with --archive");
        assertThat(target.resolve("qualification.json")).doesNotExist();
    }

    private int runs(String times) throws IOException {
        return (int) Files.size(folder.resolve("runs").resolve(times));
    }

    @Test
    @Tag("slow")
    void whatIsWorseIsRunAgainAndIsItOnlyIfItIsEachTime() throws Exception {
        Path project = Files.createDirectory(folder.resolve("project"));
        Path target = Forked.project(project);
        Path before = runUnsteady(project);

        Ended worse = qualify(UNSTEADY, project, runsIn(), "--again", "2", "--baseline", before.toString());

        assertThat(worse.status()).as(worse.said()).isEqualTo(14);
        assertThat(worse.said())
                .contains("3 measurements of 3 scenarios are worse than before."
                        + " Running all scenarios again to confirm it, 1 of at most 2:")
                .contains("2 measurements of 2 scenarios are worse than before.")
                .contains("4 scenarios: 4 passed")
                .contains("passed -> failed when run again  Unsteady: of the same name (4)")
                .contains("10.0 -> 100.0 us (10.00 times), again 90.0, 80.0")
                .contains("worse, but not in every repetition: 1)");
        assertThat(runs("10")).isEqualTo(4);
        JsonNode changes = MAPPER.readTree(target.resolve("comparison.json").toFile());
        assertThat(changes.path("notEachTime").asInt()).isEqualTo(1);
        assertThat(changes.path("measurements"))
                .extracting(each -> each.path("scenario").asText() + " " + each.path("again"))
                .containsExactly("Unsteady: of the same name (3) [90.0,80.0]", "Unsteady: of the same name (4) []");
        assertThat(changes.path("verdicts"))
                .extracting(each -> each.path("after").asText() + " " + each.path("again"))
                .containsExactly("failed true");
        assertThat(Forked.results(target.resolve("qualify-results")))
                .as("four scenarios, and no comparison")
                .hasSize(4);
        assertThat(MAPPER.readTree(target.resolve("qualification.json").toFile())
                        .at("/scenarios/1/measurements/round trip p50/value")
                        .asInt())
                .as("that of the first time")
                .isEqualTo(100);

        Ended once = qualify(UNSTEADY, project, runsIn(), "--again", "0", "--baseline", before.toString());

        assertThat(once.status()).as(once.said()).isEqualTo(1);
        assertThat(once.said()).doesNotContain("Running all scenarios again");
        assertThat(target.resolve("qualify-again")).doesNotExist();
        Ended wrong = qualify(UNSTEADY, project, "--again", "-1");
        assertThat(wrong.status()).isEqualTo(2);
        assertThat(wrong.said()).contains("--again -1 is not a number of times, 0 or more");
    }

    private String runsIn() throws IOException {
        return "-D" + UnsteadyScenarios.RUNS + "=" + Files.createDirectories(folder.resolve("runs"));
    }

    /** Runs the scenarios for the first time, and returns their summary. */
    private Path runUnsteady(Path project) throws Exception {
        Ended first = qualify(UNSTEADY, project, runsIn());
        assertThat(first.status()).as(first.said()).isZero();
        return Files.move(project.resolve("reports/target/qualification.json"), folder.resolve("before.json"));
    }

    private record Again(int status, String said, Path target) {}

    /** Qualifies with a launcher of JVMs that does something else the second time, when the scenarios are to be run again. */
    private Again qualifyWith(String secondTime) throws Exception {
        Path project = Files.createDirectory(folder.resolve("project"));
        Path target = Forked.project(project);
        Path before = runUnsteady(project);
        Path started = folder.resolve("started");
        Path launcher = Forked.executable(
                folder.resolve("launcher"),
                "[ ! -e " + started + " ] || { " + secondTime + "; }",
                ": > " + started,
                "exec " + Forked.launcher() + " \"$@\"");
        Path said = project.resolve("said");
        int status = Forked.java(
                said,
                Forked.qualifying(project, launcher, UNSTEADY),
                Qualify.class.getName(),
                List.of(runsIn(), "--baseline", before.toString()));
        Again again = new Again(status, Files.readString(said), target);
        assertThat(again.said())
                .contains("1 of at most 1:")
                .contains("4 scenarios: 4 passed")
                .contains("3 worse, 0 better");
        assertThat(target.resolve("allure-report/index.html")).isNotEmptyFile();
        return again;
    }

    @Test
    @Tag("slow")
    void whatCannotBeRunAgainIsSaidAndDoesNoHarm() throws Exception {
        Again again = qualifyWith("echo 'no more of them'; exit 3");

        assertThat(again.status()).as(again.said()).isEqualTo(14);
        assertThat(again.said()).contains("That could not be run again: no more of them");
    }

    @Test
    @Tag("slow")
    void aSignalWhileItIsRunAgainLeavesTheReportOfTheRun() throws Exception {
        // Not SIGINT, which a build in the background has its processes ignore.
        Again again = qualifyWith("kill -TERM $PPID; exec sleep 60");

        assertThat(again.status()).as(again.said()).isEqualTo(143);
        assertThat(again.said()).contains("Interrupted; the report shows what was run until then.");
    }
}
