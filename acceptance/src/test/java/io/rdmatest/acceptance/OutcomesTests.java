package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Counts the runs of a {@code ./qualify} that ends as it is told. */
class OutcomesTests {

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    /** Its options are file, status of the result, own status and outcome; each run takes the next four. */
    @BeforeEach
    void makeQualify() throws IOException {
        Path script = Files.writeString(folder.resolve("qualify"), """
                #!/bin/bash
                cd "$2" || exit 99
                shift $((2 + 4 * ($(ls -d ../run-* | wc -l) - 1)))
                echo "the last line"
                [ "$1" = none ] && exit "$3"
                mkdir -p "$(dirname "$1")"
                printf '{"outcome": "%s", "outcomeReason": "Said so.", "exitStatus": %s, "scenarios": [
                    {"name": "good", "verdict": "passed", "reason": null},
                    {"name": "bad", "verdict": "broken", "cause": "PEER_LOST", "reason": "\\\\nfirst line %s\\\\nsecond"}]}' \
                    "$4" "$2" "$3" >"$1"
                exit "$3"
                """);
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private int outcomes(String... runs) {
        List<String> words = new ArrayList<>(List.of(
                "-n",
                "" + runs.length,
                "--busy",
                "1",
                "--output",
                folder.resolve("out").toString(),
                "--"));
        for (String run : runs) {
            words.addAll(List.of(run.split(" ", 4)));
        }
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        return new CommandLine(new Outcomes(folder, out)).execute(words.toArray(String[]::new));
    }

    private String printed() {
        return printed.toString(StandardCharsets.UTF_8);
    }

    @Test
    void outcomesAndFailuresAreCounted() {
        assertThat(outcomes(
                        "qualification.json 4 4 inconclusive",
                        "partial/qualification.json 0 0 a new one",
                        "qualification.json 4 4 inconclusive"))
                .isZero();

        assertThat(printed())
                .contains("run 2 of 3: a new one, status 0, ")
                .contains("3 runs of ./qualify ", " beside 1 busy processes")
                .contains("     1  a new one, status 0\n", "     2  inconclusive, status 4\n")
                .contains("     2  broken PEER_LOST bad: first line 4 [1, 3]\n")
                .doesNotContain("second");
        assertThat(folder.resolve("out/run-003/console.txt")).hasContent("the last line");
    }

    @Test
    void aRunThatIsNotQualifiedIsNoSuccess() {
        assertThat(outcomes("qualification.json 0 0 qualified", "qualification.json 1 1 not qualified"))
                .isEqualTo(1);
    }

    @Test
    void aRunWithoutResultIsNoSuccess() {
        assertThat(outcomes("none - 3 -")).isEqualTo(1);
        assertThat(printed()).contains("     1  no result, status 3: the last line [1]\n");
    }

    @Test
    void aResultThatIsNotTheStatusIsNoSuccess() {
        assertThat(outcomes("qualification.json 0 4 qualified")).isEqualTo(1);
        assertThat(printed()).contains("     1  qualified, status 4 where the result has 0\n");
    }
}
