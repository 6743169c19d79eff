package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsFile;
import io.rdmatest.report.culprits.PairsReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PairsFileTests {

    @TempDir
    private Path folder;

    @AfterEach
    void goOn() {
        boolean ignored = Thread.interrupted();
    }

    private static PairLine line(String from) {
        return new PairLine(
                "rail0",
                from,
                "z",
                null,
                null,
                1,
                PairLine.Outcome.MEASURED,
                null,
                Double.NaN,
                1e9,
                1e6,
                1e-5,
                2e-5,
                9,
                64,
                1,
                false,
                null,
                null,
                new PairLine.Counters(Map.of("sent_pkts", 3L), Map.of()));
    }

    @Test
    void aLineIsThereBeforeTheFileIsClosed() throws Exception {
        Path path = folder.resolve("made/pairs.jsonl");
        try (PairsFile file = PairsFile.begin(path)) {
            file.write(line("a"));

            assertThat(new PairsReader().read(path)).containsExactly(line("a"));
            file.write(line("b"));
            assertThat(new PairsReader().read(path)).containsExactly(line("a"), line("b"));
            assertThat(file.failure()).isNull();
        }
    }

    /** An interrupt closes a channel, and a run that is interrupted keeps its results. */
    @Test
    void whoeverIsInterruptedWritesAllTheSameAndStaysSo() throws Exception {
        Path path = folder.resolve("pairs.jsonl");
        try (PairsFile file = PairsFile.begin(path)) {
            file.write(line("a"));
            Thread.currentThread().interrupt();
            file.write(line("b"));

            assertThat(Thread.interrupted()).isTrue();
            file.write(line("c"));
            assertThat(file.failure()).isNull();
        }
        assertThat(new PairsReader().read(path)).containsExactly(line("a"), line("b"), line("c"));
    }

    @Test
    void aRunBeginsItsFileAnew() throws Exception {
        Path path = Files.writeString(folder.resolve("pairs.jsonl"), "what an earlier run left\n");
        PairsFile.begin(path).close();

        assertThat(path).isEmptyFile();
    }

    @Test
    void whyAFileCannotBeWrittenIsTold() throws Exception {
        Path path = Files.createDirectory(folder.resolve("folder"));
        try (PairsFile file = PairsFile.begin(path)) {
            file.write(line("a"));

            assertThat(file.failure()).startsWith(path + " cannot be written: ").contains("folder");
        }
    }

    @Test
    void withoutAPathNothingIsWritten() {
        try (PairsFile file = PairsFile.begin(null)) {
            file.write(line("a"));

            assertThat(file.failure()).isNull();
        }
        assertThat(folder).isEmptyDirectory();
    }
}
