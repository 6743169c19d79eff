package io.rdmatest.report.culprits;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.report.culprits.PairLine.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PairsFileTests {

    private static final String OF_THE_DESCRIPTION = """
            {"schema": "pairs/1", "rail": "rail0", "from": "n001", "to": "n002", "fromLeaf": "leaf0", "toLeaf": "leaf1",\
             "attempts": 1, "outcome": "measured", "cause": null, "lineRate": 100e9, "bandwidth": 96.1e9,\
             "messageRate": 4.0e6, "latencyP50": 3.2e-6, "latencyP99": 5.4e-6, "samples": 1000, "bytesVerified": 65536,\
             "counters": {"from": {}, "to": {}}}
            """;

    private static final PairLine MEASURED = new PairLine(
            "rail0",
            "n001",
            "n002",
            "leaf0",
            "leaf1",
            1,
            Outcome.MEASURED,
            null,
            100e9,
            96.1e9,
            4e6,
            3.2e-6,
            5.4e-6,
            1000,
            65536,
            1,
            false,
            null,
            null,
            PairLine.Counters.NONE);

    private static final PairLine FAILED = new PairLine(
            "rail \"0\"",
            "n001",
            "nöde\n2",
            null,
            null,
            2,
            Outcome.FAILED,
            "RETRY_EXCEEDED",
            Double.NaN,
            Double.NaN,
            Double.NaN,
            Double.NaN,
            Double.NaN,
            0,
            0,
            2,
            false,
            null,
            null,
            new PairLine.Counters(
                    Map.of("packet_seq_err", 3L, "local_ack_timeout_err", 7L), Map.of("out_of_sequence", 1L << 40)));

    @TempDir
    private Path folder;

    private Path file(String content) throws IOException {
        return Files.writeString(folder.resolve("pairs.jsonl"), content);
    }

    @Test
    void theLineOfTheDescriptionIsRead() throws IOException {
        assertThat(Schemas.mistakesOfPair(OF_THE_DESCRIPTION)).isEmpty();
        assertThat(new PairsReader().read(file(OF_THE_DESCRIPTION))).containsExactly(MEASURED);
    }

    @Test
    void whatIsWrittenIsReadAgainAndFitsTheSchema() throws IOException {
        Path file = folder.resolve("pairs.jsonl");
        try (PairsWriter writer = PairsWriter.create(file)) {
            writer.write(MEASURED);
            assertThat(Files.readString(file))
                    .as("while it is open")
                    .endsWith("}\n")
                    .hasLineCount(1);
            writer.write(FAILED);
        }
        assertThat(Files.readAllLines(file))
                .hasSize(2)
                .allSatisfy(line -> assertThat(Schemas.mistakesOfPair(line)).isEmpty());
        PairsReader reader = new PairsReader();
        assertThat(reader.read(file)).containsExactly(MEASURED, FAILED);
        assertThat(reader.notes()).isEmpty();
    }

    @Test
    void aFileIsContinuedBehindItsLastWholeLine() throws IOException {
        Path file = file(OF_THE_DESCRIPTION + OF_THE_DESCRIPTION.substring(0, 40));
        try (PairsWriter writer = PairsWriter.append(file)) {
            writer.write(FAILED);
        }
        assertThat(new PairsReader().read(file)).containsExactly(MEASURED, FAILED);
        try (PairsWriter writer = PairsWriter.append(folder.resolve("new.jsonl"))) {
            writer.write(MEASURED);
        }
        assertThat(new PairsReader().read(folder.resolve("new.jsonl"))).containsExactly(MEASURED);
    }

    @Test
    void unknownMembersAndEmptyLinesArePassedOver() throws IOException {
        Path file = file("\n{\"x\": {\"rail\": [1, {}]}, \"rail\": \"r\", \"from\": \"a\", \"to\": \"b\", \"schema\":"
                + " \"pairs/1\", \"outcome\": \"not measured\", \"counters\": {\"other\": {\"a\": 1}, \"to\":"
                + " {\"symbol_error\": 2}}, \"y\": [1]}\r\n\r\n");
        List<PairLine> cells = new PairsReader().read(file);
        assertThat(cells).hasSize(1);
        assertThat(cells.getFirst().outcome()).isEqualTo(Outcome.NOT_MEASURED);
        assertThat(cells.getFirst().bandwidth()).isNaN();
        assertThat(cells.getFirst().counters().to()).isEqualTo(Map.of("symbol_error", 2L));
    }

    @Test
    void aLastLineThatWasCutShortIsANote() throws IOException {
        for (int length = 1; length < OF_THE_DESCRIPTION.length() - 2; length++) {
            PairsReader reader = new PairsReader();
            Path file = file(OF_THE_DESCRIPTION + OF_THE_DESCRIPTION.substring(0, length));
            assertThat(reader.read(file)).containsExactly(MEASURED);
            assertThat(reader.notes()).containsExactly(file + ":2 was cut short when it was written, and is left out");
        }
        PairsReader reader = new PairsReader();
        assertThat(reader.read(file(OF_THE_DESCRIPTION + OF_THE_DESCRIPTION.strip())))
                .as("only the end of the line is missing")
                .containsExactly(MEASURED, MEASURED);
        assertThat(reader.notes()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"schema\": \"pairs/1\", \"rail\": \"r\", \"fr",
                "{\"schema\": \"pairs/1\", \"rail\": \"r\", \"from\": \"a\", \"to\": \"b\"",
                "oops",
                "[]",
                "3",
                "null",
                "}",
                "{}",
                "{} {}",
            })
    void aBrokenLineIsNamed(String broken) throws IOException {
        Path file = file(OF_THE_DESCRIPTION + "\n" + broken + "\n" + OF_THE_DESCRIPTION);
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(file))
                .withMessageStartingWith(file + ":3 is no cell of a pairs.jsonl: ")
                .satisfies(e -> assertThat(e.getMessage()).hasLineCount(1));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    "pairs/1"   | "pairs/2"  | "schema" is "pairs/2", and this build reads "pairs/1"
                    "measured"  | "good"     | "outcome" is "good", and not one of "measured", "failed", "not measured"
                    "n002"      | "n001"     | "from" and "to" are both "n001"
                    "n002"      | 2          | "to" is not a string
                    "n002"      | ""         | "to" is empty
                    "n002"      | null       | it has no "to"
                    96.1e9      | "96.1e9"   | "bandwidth" is not a number
                    96.1e9      | -1         | "bandwidth" is -1.0: it must be 0 or more, or null
                    96.1e9      | NaN        | "bandwidth" is NaN: it must be a number, or null
                    96.1e9      | 1e999      | "bandwidth" is Infinity: it must be 0 or more, or null
                    100e9       | 0          | "lineRate" is 0: it must be more, or null
                    1000        | 10.5       | "samples" is not a whole number
                    65536       | -3         | "bytesVerified" is -3: it must be 0 or more
                    "attempts": 1 | "directions": 3 | "directions" is 3: it must be 1 or 2
                    "attempts": 1 | "directions": 0 | "directions" is 0: it must be 1 or 2
                    "attempts": 1 | "confirmation": 1 | "confirmation" is not true or false
                    "from": {}  | "from": 1  | "counters.from" is not an object
                    """)
    void aWrongMemberIsNamed(String right, String wrong, String message) throws IOException {
        String line = OF_THE_DESCRIPTION.replaceFirst(right.replace("{", "\\{"), wrong);
        assertThat(line).isNotEqualTo(OF_THE_DESCRIPTION);
        Path file = file(OF_THE_DESCRIPTION + line);
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(file))
                .withMessage(file + ":2 is no cell of a pairs.jsonl: " + message);
    }

    @Test
    void anArrayWasNotCutShort() throws IOException {
        Path file = file("[" + OF_THE_DESCRIPTION.strip() + ", " + OF_THE_DESCRIPTION.strip() + "]");
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(file))
                .withMessage(
                        file + ":1 is no cell of a pairs.jsonl: it is a JSON array: write each object on a line of its"
                                + " own, as jq -c '.[]' does");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    null         | it is not a JSON object
                    {            | the line ends within the cell
                    {"rail": "r" | the line ends within the cell
                    """)
    void aLineThatIsNoObjectIsTold(String broken, String message) throws IOException {
        Path file = file(broken + "\n" + OF_THE_DESCRIPTION);
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(file))
                .withMessage(file + ":1 is no cell of a pairs.jsonl: " + message);
    }

    @Test
    void whatIsNoTextNamesNoOtherProgram() throws IOException {
        PairsReader reader = new PairsReader();
        String confirmation = OF_THE_DESCRIPTION.replace("\"attempts\": 1", "\"confirmation\": true, %s");
        assertThat(reader.read(file(confirmation.formatted("\"instrument\": 5")
                        + confirmation.formatted("\"instrument\": \"ib_write_bw\", \"reason\": [7]")
                        + OF_THE_DESCRIPTION.replace("\"attempts\": 1", "\"instrument\": \"x\", \"reason\": \"y\""))))
                .as("a cell, whose members of other tools are passed over")
                .containsExactly(MEASURED);
        assertThat(reader.confirmations())
                .satisfiesExactly(
                        line -> assertThat(line.instrument()).isNull(),
                        line -> assertThat(line.instrument()).isEqualTo("ib_write_bw"));
        assertThat(reader.confirmations())
                .allSatisfy(line -> assertThat(line.reason()).isNull());
    }

    @Test
    void aLineMayHaveFourMegabytes() throws IOException {
        int most = 4 << 20;
        String more = OF_THE_DESCRIPTION.replace("{\"schema\"", "{\"more\": \"%s\", \"schema\"");
        String longest = more.formatted("x".repeat(most - more.formatted("").length()));
        assertThat(longest).hasSize(most);
        Path file = file(OF_THE_DESCRIPTION + longest + OF_THE_DESCRIPTION);
        List<Long> positions = new ArrayList<>();
        new PairsReader().read(file, (cell, position) -> positions.add(position));
        assertThat(positions)
                .containsExactly(0L, (long) OF_THE_DESCRIPTION.length(), (long) OF_THE_DESCRIPTION.length() + most);
        assertThat(PairsReader.at(file, positions.get(1))).isEqualTo(MEASURED);

        for (String end : List.of("\n", "x", "x\n" + OF_THE_DESCRIPTION, longest)) {
            Files.writeString(file, OF_THE_DESCRIPTION + longest.stripTrailing() + " " + end);
            assertThatIOException()
                    .isThrownBy(() -> new PairsReader().read(file))
                    .withMessage(file + ":2 is no cell of a pairs.jsonl: it has more than 4194304 bytes");
        }
    }

    @Test
    void twoCellsOnALineAreAnError() throws IOException {
        Path file = file(OF_THE_DESCRIPTION.strip() + OF_THE_DESCRIPTION);
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(file))
                .withMessage(file + ":1 is no cell of a pairs.jsonl: it goes on behind the cell");
    }

    @Test
    void aFileThatIsNotThere() {
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(folder.resolve("none")))
                .withMessage(folder.resolve("none") + " can't be read: there is no such file");
    }

    /** Parts of the file are parsed side by side; lines lie across their borders. */
    @Test
    void aLongFileIsReadInItsOrder() throws IOException {
        int count = 40_000;
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(OF_THE_DESCRIPTION.replace("n002", "n" + (i + 1_000_000)));
        }
        Path file = file(text.toString());
        List<String> names = new ArrayList<>();
        List<Long> positions = new ArrayList<>();
        new PairsReader().read(file, (cell, position) -> {
            names.add(cell.to());
            positions.add(position);
        });
        assertThat(names).hasSize(count);
        byte[] bytes = text.toString().getBytes(UTF_8);
        for (int i = 0; i < count; i += i % 997 + 1) {
            assertThat(names.get(i)).isEqualTo("n" + (i + 1_000_000));
            assertThat(bytes[Math.toIntExact(positions.get(i))]).isEqualTo((byte) '{');
        }
        assertThat(PairsReader.at(file, positions.getLast()).to()).isEqualTo(names.getLast());
        Files.writeString(file, text + "broken\n");
        assertThatIOException()
                .isThrownBy(() -> new PairsReader().read(file))
                .withMessageStartingWith(file + ":" + (count + 1) + " is no cell");
    }

    @Test
    void aCellChecksItsValues() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PairLine(
                        "r",
                        "a",
                        "b",
                        null,
                        null,
                        -1,
                        Outcome.MEASURED,
                        null,
                        1,
                        1,
                        1,
                        1,
                        1,
                        1,
                        1,
                        1,
                        false,
                        null,
                        null,
                        PairLine.Counters.NONE))
                .withMessage("\"attempts\" is -1: it must be 0 or more");
    }
}
