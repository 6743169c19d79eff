package io.rdmatest.report.nights;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsWriter;
import io.rdmatest.report.nights.CellComparison.Group;
import io.rdmatest.report.nights.CellComparison.Port;
import io.rdmatest.report.nights.CellComparison.Worse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Generated nights of one fabric, cell by cell. A failure names the seed. */
class CellComparisonTests {

    /** 992 cells. */
    private static final int NODES = 32;

    private static final int NIGHTS = 30;

    /** What is other than usual of a cell in a night: factors of its values. */
    private record Cell(double bandwidth, double tail, boolean fails) {
        static final Cell USUAL = new Cell(1, 1, false);
    }

    @FunctionalInterface
    private interface Story {
        Cell cell(int night, int from, int to);
    }

    @TempDir
    private Path folder;

    private final List<Path> nights = new ArrayList<>();

    private static String node(int number) {
        return "n%03d".formatted(number);
    }

    /** Writes the next night: each cell has its own level, each night too, and there is noise on top. */
    private Path night(int nodes, Random random, long seed, String settings, Story story) throws IOException {
        int night = nights.size();
        Path run = Files.createDirectories(folder.resolve("%03d".formatted(night)));
        Path summary = Files.writeString(
                run.resolve("qualification.json"),
                "{\"schemaVersion\": 3, \"environment\": {}, \"scenarios\": [], \"settings\": {" + settings + "}}");
        Random levels = new Random(seed);
        double common = random.nextGaussian() * 0.01;
        try (PairsWriter writer = PairsWriter.create(run.resolve("pairs.jsonl"))) {
            for (int from = 0; from < nodes; from++) {
                for (int to = 0; to < nodes; to++) {
                    if (from == to) {
                        continue;
                    }
                    double level = Math.exp(levels.nextGaussian() * 0.02);
                    Cell cell = story.cell(night, from, to);
                    double latency = 3.2e-6 * level * noise(random, 0.04, common);
                    writer.write(new PairLine(
                            "rail0",
                            node(from),
                            node(to),
                            null,
                            null,
                            1,
                            cell.fails() ? PairLine.Outcome.FAILED : PairLine.Outcome.MEASURED,
                            cell.fails() ? "RETRY_EXCEEDED" : null,
                            100e9,
                            cell.fails() ? Double.NaN : 95e9 * level * noise(random, 0.02, common) * cell.bandwidth(),
                            cell.fails() ? Double.NaN : 4e6 * level * noise(random, 0.03, common),
                            cell.fails() ? Double.NaN : latency,
                            cell.fails()
                                    ? Double.NaN
                                    : latency * 1.6 * Math.exp(Math.abs(random.nextGaussian()) * 0.25) * cell.tail(),
                            1000,
                            65_536,
                            1,
                            false,
                            null,
                            null,
                            PairLine.Counters.NONE));
                }
            }
        }
        nights.add(summary);
        return summary;
    }

    private static double noise(Random random, double deviation, double common) {
        return Math.exp(random.nextGaussian() * deviation + common);
    }

    private CellComparison compare(int night, List<Group> groups) throws IOException {
        List<Qualification> runs = new ArrayList<>();
        for (Path summary : nights.subList(0, night + 1)) {
            runs.add(Qualification.read(summary));
        }
        return CellComparison.of(
                runs.getLast(), CellComparison.read(nights.get(night)), runs.subList(0, night), 14, 0.2, groups);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void nothingIsToldOfCleanNights(long seed) throws IOException {
        Random random = new Random(seed);
        for (int night = 0; night < NIGHTS; night++) {
            Path ignored = night(NODES, random, seed, "", (at, from, to) -> Cell.USUAL);
            if (night > 0) {
                CellComparison compared = compare(night, List.of());
                assertThat(compared.worse())
                        .as("seed %d, night %d", seed, night)
                        .isEmpty();
                assertThat(compared.compared()).isEqualTo(NODES * (NODES - 1));
                assertThat(compared.nights()).isEqualTo(Math.min(14, night));
            }
        }
    }

    /** Of many cells, a few are slow for a moment each night. */
    private static Story moments(long seed, Story story) {
        return (night, from, to) -> {
            Cell cell = story.cell(night, from, to);
            boolean hasMoment = new Random(seed + night * 1_000_003L + from * 1009L + to).nextInt(500) == 0;
            return hasMoment ? new Cell(cell.bandwidth() * 0.5, cell.tail() * 8, cell.fails()) : cell;
        };
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void cellsThatAreSlowForAMomentAreNotTold(long seed) throws IOException {
        Random random = new Random(seed);
        for (int night = 0; night < 7; night++) {
            Path ignored = night(100, random, seed, "", moments(seed, (at, from, to) -> Cell.USUAL));
            if (night > 0) {
                CellComparison compared = compare(night, List.of());
                assertThat(compared.worse())
                        .as("seed %d, night %d", seed, night)
                        .isEmpty();
                assertThat(compared.lines()).anyMatch(line -> line.contains("worse in this run alone are left out"));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void ofThoseTheOneThatStaysSlowAndAWorsePortAndManyAtOnceAreTold(long seed) throws IOException {
        Random random = new Random(seed);
        Story story = moments(seed, (night, from, to) -> {
            boolean path = night >= 4 && from == 3 && to == 8;
            boolean port = night == 6 && to == 50;
            boolean many = night == 7 && (from + to) % 40 == 0;
            return path || port || many ? new Cell(0.5, 1, false) : Cell.USUAL;
        });
        for (int night = 0; night < 8; night++) {
            Path ignored = night(100, random, seed, "", story);
        }

        assertThat(compare(4, List.of()).worse()).isEmpty();
        assertThat(compare(5, List.of()).worse()).isEmpty();
        assertThat(compare(6, List.of()).worse())
                .hasSizeBetween(95, 100)
                .allMatch(cell -> cell.to().equals("n050")
                        || cell.from().equals("n003") && cell.to().equals("n008"))
                .anyMatch(cell -> cell.to().equals("n008"));
        assertThat(compare(7, List.of()).worse()).hasSizeGreaterThan(200);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 6, 20})
    void aPortAtSevenTenthsIsToldOnItsNightAndNothingElse(int when) throws IOException {
        Random random = new Random(33);
        for (int night = 0; night <= when; night++) {
            Path ignored = night(
                    NODES,
                    random,
                    33,
                    "",
                    (at, from, to) -> at == when && to == 7 ? new Cell(0.7, 1, false) : Cell.USUAL);
        }

        CellComparison compared = compare(when, List.of());

        assertThat(compared.worse()).hasSize(NODES - 1).allSatisfy(cell -> {
            assertThat(cell.to()).isEqualTo("n007");
            assertThat(cell.what()).isEqualTo("bandwidth");
        });
        assertThat(compared.ports()).containsExactly(new Port("n007", "rail0", "in", 31, 31));
        assertThat(compared.lines())
                .hasSize(8)
                .contains("  31 of 31 into n007 on rail0", "  and 26 more, see comparison.json")
                .first()
                .asString()
                .startsWith("31 of 992 cells are worse than in the ");
        assertThat(compared.lines().get(2))
                .matches("  n\\d+ -> n007 on rail0: bandwidth .* Gb/s \\(0\\.[67]\\d times\\)");
    }

    @Test
    void aPathThatFailsIsToldOnceAndALongTailIsTold() throws IOException {
        Random random = new Random(5);
        for (int night = 0; night < 12; night++) {
            Path ignored = night(
                    8,
                    random,
                    5,
                    "",
                    (at, from, to) ->
                            new Cell(1, at == 9 && from == 1 && to == 2 ? 20 : 1, at >= 10 && from == 3 && to == 4));
        }

        assertThat(compare(9, List.of()).worse()).singleElement().satisfies(cell -> {
            assertThat(cell.what()).isEqualTo("latencyP99");
            assertThat(cell.from() + cell.to()).isEqualTo("n001n002");
        });
        CellComparison tenth = compare(10, List.of());
        assertThat(tenth.worse())
                .containsExactly(
                        new Worse("rail0", "n003", "n004", "outcome", null, null, null, null, "RETRY_EXCEEDED"));
        assertThat(tenth.lines())
                .containsExactly(
                        "1 of 56 cells is worse than in the 10 runs before, 1 of them failed.",
                        "  n003 -> n004 on rail0: measured -> failed (RETRY_EXCEEDED)");
        assertThat(compare(11, List.of()).worse()).isEmpty();
    }

    /** A night or two of two nodes do not show the noise: no noise is known, which is not no noise. */
    @Test
    void inTheSecondNightOfTwoNodesOnlyAGrossDifferenceIsTold() throws IOException {
        Random random = new Random(7);
        for (double bandwidth : new double[] {1, 0.5, 0.1}) {
            Path ignored = night(2, random, 5, "", (at, from, to) -> new Cell(from == 0 ? bandwidth : 1, 1, false));
        }

        assertThat(compare(1, List.of()).worse()).isEmpty();
        assertThat(compare(2, List.of()).worse()).hasSize(1);
    }

    @Test
    void runsWithOtherSettingsAndWithoutCellsAreLeftOut() throws IOException {
        Random random = new Random(6);
        Path ignoredFirst = night(4, random, 6, "\"rdma.pairs.qps\": \"1\"", (at, from, to) -> new Cell(2, 1, false));
        Files.delete(
                night(4, random, 6, "", (at, from, to) -> new Cell(2, 1, false)).resolveSibling("pairs.jsonl"));
        Path ignoredNow = night(4, random, 6, "", (at, from, to) -> Cell.USUAL);

        CellComparison compared = compare(2, List.of());

        assertThat(compared.compared()).isZero();
        assertThat(compared.worse()).isEmpty();
        assertThat(compared.lines())
                .containsExactly(
                        "No cell was compared: no earlier run has the same pairs, measured with the same settings.",
                        "1 earlier run was not compared cell by cell: pairs were measured with other settings"
                                + " (rdma.pairs.qps, rdma.pairs.size, rdma.pairs.operation, rdma.pairs.directions).");
    }

    /** A run that ends before its first pair leaves such a file. */
    @Test
    void aFileWithoutCellsHasNothingToCompare() throws IOException {
        Random random = new Random(6);
        for (int at = 0; at < 3; at++) {
            Path ignored = night(4, random, 6, "", (night, from, to) -> Cell.USUAL);
        }
        Files.writeString(nights.getLast().resolveSibling("pairs.jsonl"), "");

        CellComparison compared = compare(2, List.of());

        assertThat(compared.compared()).isZero();
        assertThat(compared.worse()).isEmpty();
    }

    @Test
    void bothDirectionsAtOnceAreAnotherSettingAndWhatIsNotSetIsItsDefault() throws IOException {
        Random random = new Random(9);
        Path ignored = night(4, random, 9, "\"rdma.pairs.directions\": \"one\"", (at, from, to) -> Cell.USUAL);
        ignored = night(4, random, 9, "\"rdma.pairs.directions\": \"both\"", (at, from, to) -> new Cell(2, 1, false));
        ignored = night(
                4,
                random,
                9,
                "\"rdma.pairs.size\": \"65536\", \"rdma.pairs.operation\": \"write\"",
                (at, from, to) -> Cell.USUAL);
        ignored = night(4, random, 9, "\"rdma.pairs\": \"true\"", (at, from, to) -> Cell.USUAL);

        assertThat(compare(1, List.of()).compared()).isZero();
        CellComparison compared = compare(3, List.of());
        assertThat(compared.nights()).isEqualTo(2);
        assertThat(compared.worse()).isEmpty();
        assertThat(compared.lines()).last().asString().startsWith("1 earlier run was not compared cell by cell");
    }

    @Test
    void anEarlierFileThatIsDamagedCostsItsNightOnly() throws IOException {
        Random random = new Random(7);
        for (int night = 0; night < 3; night++) {
            Path ignored = night(4, random, 7, "", (at, from, to) -> Cell.USUAL);
        }
        Path damaged = Files.writeString(nights.getFirst().resolveSibling("pairs.jsonl"), "{}\n{}\n");

        CellComparison compared = compare(2, List.of());

        assertThat(compared.nights()).isEqualTo(1);
        assertThat(compared.lines()).anySatisfy(line -> assertThat(line).startsWith("Cells left out: " + damaged));
    }

    @Test
    void aGroupHasItsFigureAndThatOfTheOthersOfEachNight() throws IOException {
        Random random = new Random(8);
        for (int night = 0; night < 40; night++) {
            Path ignored = night(
                    6,
                    random,
                    8,
                    "",
                    (at, from, to) -> new Cell(at >= 35 && to == 2 ? 0.5 : 1, 1, at == 39 && from == 0 && to == 1));
        }
        List<Group> groups = List.of(
                new Group(
                        "port n002 on rail0, receiving",
                        "bandwidth",
                        (rail, from, to, fromLeaf, toLeaf) -> to.equals("n002")),
                new Group(
                        "path n000 to n001 on rail0",
                        "failed",
                        (rail, from, to, fromLeaf, toLeaf) -> from.equals("n000") && to.equals("n001")));

        JsonNode history = new ObjectMapper().valueToTree(compare(39, groups).history());

        assertThat(history.path("runs")).hasSize(CellComparison.NIGHTS);
        assertThat(history.at("/runs/29").asText()).isEqualTo(nights.get(39).toString());
        JsonNode port = history.at("/series/0");
        assertThat(port.path("unit").asText()).isEqualTo("Gb/s");
        assertThat(port.at("/values/24").asDouble()).isBetween(85.0, 105.0);
        assertThat(port.at("/values/25").asDouble()).isBetween(43.0, 52.0);
        assertThat(port.at("/others/29").asDouble()).isBetween(85.0, 105.0);
        JsonNode path = history.at("/series/1");
        assertThat(path.at("/values/28").asDouble()).isZero();
        assertThat(path.at("/values/29").asDouble()).isEqualTo(100);
        assertThat(path.at("/others/29").asDouble()).isZero();
        assertThat(path.path("what").asText()).isEqualTo("share of pairs that failed");
    }

    // ---- drifts ----

    /** No night differs from those before it by a fifth, and the last quarter of forty does from the first one. */
    @Test
    void aSlowFallThatNoNightShowsIsADrift() throws IOException {
        Random random = new Random(11);
        for (int night = 0; night < 45; night++) {
            Path ignored = night(
                    8, random, 11, "", (at, from, to) -> to == 5 ? new Cell(Math.pow(0.99, at), 1, false) : Cell.USUAL);
        }

        CellComparison compared = compare(44, List.of());

        assertThat(compared.nights()).isEqualTo(14);
        assertThat(compared.worse()).hasSize(7).allSatisfy(cell -> {
            assertThat(cell.to()).isEqualTo("n005");
            assertThat(cell.what()).isEqualTo("bandwidth");
            assertThat(cell.isDrift()).isTrue();
            assertThat(cell.runs()).isEqualTo(45);
            assertThat(cell.before()).isBetween(80e9, 100e9);
            assertThat(cell.after()).isBetween(55e9, 75e9);
        });
        assertThat(compared.ports()).containsExactly(new Port("n005", "rail0", "in", 7, 7));
        assertThat(compared.lines().getFirst())
                .isEqualTo("7 of 56 cells are worse than in the 14 runs before, 7 of them by a drift that no run alone"
                        + " shows.");
        assertThat(compared.lines().get(2))
                .matches("  n\\d+ -> n005 on rail0: bandwidth drifts .* -> .* Gb/s over 45 runs \\(0\\.\\d+ times\\)");
        assertThat(compare(5, List.of()).worse()).isEmpty();
    }

    /** The newest quarter of the nights is still that of the bad link, and tonight is as good as the first ones. */
    @Test
    void aLinkThatWasRepairedDriftsNoMore() throws IOException {
        Random random = new Random(13);
        for (int night = 0; night < 50; night++) {
            Path ignored = night(
                    8,
                    random,
                    13,
                    "",
                    (at, from, to) -> to == 5 && at < 45 ? new Cell(Math.pow(0.99, at), 1, false) : Cell.USUAL);
        }

        assertThat(compare(44, List.of()).worse()).hasSize(7);
        for (int night = 45; night < 50; night++) {
            assertThat(compare(night, List.of()).worse()).as("night %d", night).isEmpty();
        }
    }

    /** It was told on its night, and once it is usual, it is no news. */
    @Test
    void aStepLongAgoIsNoDrift() throws IOException {
        Random random = new Random(12);
        for (int night = 0; night < 45; night++) {
            Path ignored = night(
                    8, random, 12, "", (at, from, to) -> to == 5 && at >= 22 ? new Cell(0.7, 1, false) : Cell.USUAL);
        }

        assertThat(compare(22, List.of()).worse()).hasSize(7);
        for (int night : new int[] {36, 40, 44}) {
            assertThat(compare(night, List.of()).worse()).as("night %d", night).isEmpty();
        }
    }

    /** As many nights as can show one, of which nothing is to be told. */
    @ParameterizedTest
    @ValueSource(longs = {21, 22, 23})
    void nothingDriftsInCleanNights(long seed) throws IOException {
        Random random = new Random(seed);
        for (int night = 0; night < 57; night++) {
            Path ignored = night(16, random, seed, "", (at, from, to) -> Cell.USUAL);
        }
        for (int night = 20; night < 57; night += 6) {
            assertThat(compare(night, List.of()).worse())
                    .as("seed %d, night %d", seed, night)
                    .isEmpty();
        }
    }

    /** What a night was not asked to measure is not there, and nothing is said of it. */
    @Test
    void aNightThatMeasuresLessIsComparedByWhatItHas() throws IOException {
        Random random = new Random(13);
        for (int night = 0; night < 20; night++) {
            Path ignored = night(4, random, 13, "", (at, from, to) -> Cell.USUAL);
        }
        Path cells = nights.getLast().resolveSibling("pairs.jsonl");
        Files.writeString(
                cells, Files.readString(cells).replaceAll("\"(bandwidth|messageRate)\":[0-9.E]+", "\"$1\":null"));

        CellComparison compared = compare(19, List.of());

        assertThat(compared.compared()).isEqualTo(12);
        assertThat(compared.worse()).isEmpty();
    }
}
