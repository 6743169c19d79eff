package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsFile;
import io.rdmatest.report.culprits.PairsReader;
import io.rdmatest.scenarios.RailLines.Details;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.HostStall;
import io.rdmatest.scenarios.pairs.Pair;
import io.rdmatest.scenarios.pairs.Rates;
import io.rdmatest.scenarios.pairs.Sample;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RailLinesTests {

    /** From b to a. */
    private static final Pair PAIR = new Pair(0, 1);

    private static final Sample SAMPLE = sample(new Rates(40e9, 1e6, 100e9));
    private static final Details DETAILS = new Details(4096, Map.of("sent_pkts", 7L), Map.of("rcvd_pkts", 7L));

    @TempDir
    private Path folder;

    private PairsFile file;
    private RailLines lines;

    private static Sample sample(Rates rates) {
        return new Sample(10, 20, 30, 200, rates, new TreeMap<>(), new TreeMap<>(), HostStall.Delay.NONE);
    }

    @BeforeEach
    void begin() {
        file = PairsFile.begin(folder.resolve("pairs.jsonl"));
        lines = new RailLines(file, "rail1", List.of("a", "b"), node -> node.equals("a") ? "leaf0" : null, 2);
    }

    @AfterEach
    void close() {
        file.close();
    }

    private static Cell cell(int attempts, @Nullable Sample sample, @Nullable Cause cause) {
        Verdict verdict = cause == null ? Verdict.GOOD : Verdict.BAD;
        String reason = cause == null ? null : "because";
        return new Cell(PAIR, verdict, sample, attempts, cause, reason, reason);
    }

    private List<PairLine> written() throws Exception {
        return new PairsReader().read(folder.resolve("pairs.jsonl"));
    }

    @Test
    void aLineThatIsWrittenAgainForItsCauseKeepsCountersAndBytes() throws Exception {
        lines.begin(PAIR);
        lines.found(PAIR, DETAILS);
        lines.write(cell(1, SAMPLE, null));
        // The others show that it is slow.
        Cell later = cell(1, SAMPLE, Cause.OUTLIER);
        assertThat(lines.isUpToDate(later)).isFalse();
        lines.write(later);

        assertThat(lines.isUpToDate(later)).isTrue();
        assertThat(written()).extracting(PairLine::cause).containsExactly(null, "OUTLIER");
        assertThat(written()).allSatisfy(line -> {
            assertThat(line.from()).isEqualTo("b");
            assertThat(line.to()).isEqualTo("a");
            assertThat(line.toLeaf()).isEqualTo("leaf0");
            assertThat(line.fromLeaf()).isNull();
            assertThat(line.directions()).isEqualTo(2);
            assertThat(line.bandwidth()).isEqualTo(40e9);
            assertThat(line.latencyP50()).isEqualTo(10e-6);
            assertThat(line.bytesVerified()).isEqualTo(4096);
            assertThat(line.counters().from()).containsExactly(Map.entry("sent_pkts", 7L));
            assertThat(line.counters().to()).containsExactly(Map.entry("rcvd_pkts", 7L));
            assertThat(line.confirmation()).isFalse();
        });
    }

    @Test
    void anAttemptThatFindsNothingHasNotWhatTheOneBeforeFound() throws Exception {
        lines.begin(PAIR);
        lines.found(PAIR, DETAILS);
        lines.write(cell(1, SAMPLE, Cause.OUTLIER));
        lines.begin(PAIR);
        lines.write(cell(2, null, Cause.TIMEOUT));

        assertThat(written().getLast().bytesVerified()).isZero();
        assertThat(written().getLast().counters().from()).isEmpty();
        assertThat(written().getLast().counters().to()).isEmpty();
        assertThat(written().getLast().outcome()).isEqualTo(PairLine.Outcome.FAILED);
    }

    /** Small packets pass, full ones don't: the round trips were measured. */
    @Test
    void aPairThatFailedAfterItsRoundTripsKeepsTheirLatency() throws Exception {
        lines.begin(PAIR);
        lines.write(cell(2, sample(Rates.NONE), Cause.RETRY_EXCEEDED));

        PairLine line = written().getLast();
        assertThat(line.outcome()).isEqualTo(PairLine.Outcome.FAILED);
        assertThat(line.cause()).isEqualTo("RETRY_EXCEEDED");
        assertThat(line.latencyP50()).isEqualTo(10e-6);
        assertThat(line.samples()).isEqualTo(200);
        assertThat(line.bandwidth()).isNaN();
    }

    @Test
    void whatConfirmsACulpritHasItsOwnDetails() throws Exception {
        lines.begin(PAIR);
        lines.found(PAIR, DETAILS);
        lines.confirm(PAIR, PairLine.Outcome.MEASURED, null, SAMPLE);
        assertThat(lines.isUpToDate(cell(0, null, null))).as("it was not tried").isFalse();

        // A reader of the matrix leaves the line out.
        assertThat(written()).isEmpty();
        assertThat(Files.readAllLines(folder.resolve("pairs.jsonl")))
                .singleElement()
                .asString()
                .contains("\"confirmation\":true")
                .contains("\"bytesVerified\":4096")
                .contains("\"sent_pkts\":7");
    }
}
