package io.rdmatest.report.page;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.assertj.core.data.Offset;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RailMatrixTests {

    @TempDir
    private Path folder;

    private final List<PairLine> lines = new ArrayList<>();

    private void add(
            String from,
            String to,
            @Nullable String leaf,
            PairLine.Outcome outcome,
            @Nullable String cause,
            double lineRate,
            double bandwidth) {
        lines.add(new PairLine(
                "rail0",
                from,
                to,
                leaf,
                leaf,
                outcome == PairLine.Outcome.FAILED ? 3 : 1,
                outcome,
                cause,
                lineRate,
                bandwidth,
                Double.NaN,
                1e-6,
                Double.NaN,
                0,
                0,
                1,
                false,
                null,
                null,
                PairLine.Counters.NONE));
    }

    private void measured(String from, String to, @Nullable String leaf, double bandwidth) {
        add(from, to, leaf, PairLine.Outcome.MEASURED, null, 100e9, bandwidth);
    }

    private void failed(String from, String to) {
        add(from, to, null, PairLine.Outcome.FAILED, "RETRY_EXCEEDED", 100e9, 7e9);
    }

    private RailMatrix matrix() throws IOException {
        Path file = folder.resolve("pairs.jsonl");
        try (PairsWriter writer = PairsWriter.create(file)) {
            for (PairLine line : lines) {
                long ignored = writer.write(line);
            }
        }
        return MeasuredPairs.read(file).rails().getFirst();
    }

    @Test
    void nodesAreSortedByLeafAndThenByNameWithNumbersInTheirOrder() throws IOException {
        measured("n10", "n9", "leaf10", 1);
        measured("n2", "n1", "leaf9", 1);
        measured("stray2", "stray10", null, 1);

        RailMatrix matrix = matrix();

        assertThat(matrix.nodes).containsExactly("n1", "n2", "n9", "n10", "stray2", "stray10");
        assertThat(matrix.leaves).containsExactly("leaf9", "leaf9", "leaf10", "leaf10", null, null);
        assertThat(matrix.groups())
                .containsExactly(
                        new RailMatrix.Group("leaf9", 0, 2),
                        new RailMatrix.Group("leaf10", 2, 4),
                        new RailMatrix.Group("stray2 … stray10", 4, 6));
    }

    @Test
    void mediansAreOfWhatWasMeasured() throws IOException {
        measured("a", "b", null, 10e9);
        measured("a", "c", null, 20e9);
        measured("a", "d", null, 90e9);
        measured("b", "a", null, 40e9);
        measured("b", "c", null, 50e9);
        failed("b", "d");

        RailMatrix matrix = matrix();

        assertThat(matrix.rowMedian(Metric.BANDWIDTH, 0)).isEqualTo(20e9, Offset.offset(1e4));
        assertThat(matrix.rowMedian(Metric.BANDWIDTH, 1)).as("of two").isEqualTo(45e9, Offset.offset(1e4));
        assertThat(matrix.columnMedian(Metric.BANDWIDTH, 3)).isEqualTo(90e9, Offset.offset(1e4));
        assertThat(matrix.rowMedian(Metric.BANDWIDTH, 2)).isNaN();
        assertThat(matrix.median(Metric.MESSAGE_RATE)).isNaN();
        assertThat(matrix.countFrom(1, RailMatrix.FAILED)).isEqualTo(1);
        assertThat(matrix.countInto(3, RailMatrix.FAILED)).isEqualTo(1);
        assertThat(matrix.medianLineRate()).isEqualTo(100e9, Offset.offset(1e4));
    }

    @Test
    void theLastLineOfACellCounts() throws IOException {
        failed("a", "b");
        measured("a", "b", null, 10e9);
        measured("b", "a", null, 10e9);
        failed("b", "a");

        RailMatrix matrix = matrix();

        assertThat(matrix.state).containsExactly(0, RailMatrix.MEASURED, RailMatrix.FAILED + 1, 0);
        assertThat(matrix.details).containsOnlyKeys(2);
        assertThat(matrix.causes).containsExactly("RETRY_EXCEEDED");
    }

    @Test
    void aBlockTellsOfItsWorstRowOrColumn() throws IOException {
        for (int from = 0; from < 4; from++) {
            for (int to = 0; to < 4; to++) {
                if (from != to) {
                    measured("n" + from, "n" + to, "leaf0", to == 2 ? 30e9 : 90e9);
                }
            }
        }

        RailMatrix matrix = matrix();
        RailMatrix.Group all = matrix.groups().getFirst();
        RailMatrix.Block block = matrix.block(all, all);

        assertThat(block.measured()).isEqualTo(12);
        assertThat(block.median()[0]).isEqualTo(90e9, Offset.offset(1e4));
        assertThat(block.worst()[0]).isEqualTo(30e9, Offset.offset(1e4));
        assertThat(block.worstNode()[0]).isEqualTo(2);
    }

    @Test
    void whatFailsIsWorseThanWhatIsSlow() throws IOException {
        measured("a", "b", null, 90e9);
        measured("b", "a", null, 90e9);
        measured("c", "a", null, 5e9);
        failed("d", "a");
        RailMatrix matrix = matrix();
        double[] medians = {90e9, Double.NaN, 1e-6, Double.NaN};

        assertThat(matrix.node(3, medians).score())
                .isGreaterThan(matrix.node(2, medians).score());
        assertThat(matrix.node(2, medians).score())
                .isGreaterThan(matrix.node(1, medians).score());
        assertThat(matrix.node(1, medians).score())
                .as("what is like the median")
                .isLessThan(1e-6);
        assertThat(matrix.node(3, medians).failed(true)).isEqualTo("1 of 1");
        assertThat(matrix.node(0, medians).failed(false)).isEqualTo("1 of 3");
        assertThat(matrix.node(2, medians).text(Metric.BANDWIDTH, true)).isEqualTo("5.00");
        assertThat(matrix.node(2, medians).text(Metric.LATENCY_P99, true)).isEqualTo("–");
    }

    @Test
    void thePageHoldsTheSameCells() throws Exception {
        measured("a", "b", "leaf0", 10e9);
        failed("b", "c");
        add("c", "a", null, PairLine.Outcome.NOT_MEASURED, null, Double.NaN, Double.NaN);

        RailMatrix matrix = matrix();
        MapPart part = MapPart.of(matrix, 1_000_000);

        JsonNode json = new ObjectMapper().readTree(part.json());
        assertThat(PackedTests.unpacked(part.arrays().get("STATE"), 9)).isEqualTo(matrix.state);
        assertThat(PackedTests.unpacked(part.arrays().get("LINE_RATE"), 9)).containsExactly(0, 1, 0, 0, 0, 1, 0, 0, 0);
        assertThat(json.at("/lineRates/0").asDouble()).isEqualTo(100e9);
        assertThat(json.at("/metrics/BANDWIDTH/rows/0").asDouble()).isEqualTo(10e9);
        assertThat(json.at("/metrics/BANDWIDTH/rows/1").isNull()).isTrue();
        assertThat(json.at("/metrics/MESSAGE_RATE/median").isNull()).isTrue();
        assertThat(part.arrays()).doesNotContainKey("MESSAGE_RATE");
        assertThat(part.notes()).isEmpty();
    }

    @Test
    void whatDoesNotFitIsRoundedAndThenLeftOutAndThePageSaysSo() throws IOException {
        Random random = new Random(5);
        for (int from = 0; from < 60; from++) {
            for (int to = 0; to < 60; to++) {
                if (from != to) {
                    measured("n" + from, "n" + to, null, 1e9 * (50 + random.nextGaussian()));
                }
            }
        }
        RailMatrix matrix = matrix();
        int whole = MapPart.of(matrix, Long.MAX_VALUE).arrays().get("BANDWIDTH").length();

        MapPart rounded = MapPart.of(matrix, whole * 3L / 4);
        assertThat(rounded.arrays()).containsKey("BANDWIDTH");
        assertThat(rounded.notes()).singleElement().asString().contains("in steps of");
        MapPart without = MapPart.of(matrix, 10);
        assertThat(without.arrays()).doesNotContainKey("BANDWIDTH").containsKey("STATE");
        assertThat(without.notes())
                .contains("The map of rail0 has no single cells of bandwidth, for which the page is too small."
                        + " pairs.jsonl has them.");
    }
}
