package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchCommandTests {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int check(String... arguments) {
        return BenchCommand.execute(
                new BenchCommand(() -> false, true), new PrintWriter(out, true), new PrintWriter(err, true), arguments);
    }

    @Test
    void listingNeedsNoDeviceAndBootsNoMachine() {
        assertThat(check("--list", "--rows", "send-*")).isZero();
        assertThat(out.toString().lines().map(line -> line.split(" ")[0]))
                .containsExactly("send-lat-64", "send-bw-64k", "send-bw-1m", "send-rate-64");
        assertThat(out.toString()).contains("<= 1.05", ">= 1.20", "ib_send_lat");
    }

    @Test
    void measuringNeedsOne() {
        assertThat(check("--rows", "mckey", "--pairs", "1")).isEqualTo(BenchCommand.OPTIONS_ARE_RIGHT);
    }

    @Test
    void theHelpNamesTheStatuses() {
        assertThat(check("--help")).isZero();
        assertThat(out.toString())
                .startsWith("Usage: bench/bench ")
                .containsPattern("1 +at least one row misses")
                .containsPattern("3 +a row could not be measured");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "1000", "5..5", "5..15"})
    void pairsAreANumberOrTwo(String pairs) {
        assertThat(check("--rows", "mckey", "--pairs", pairs)).isEqualTo(BenchCommand.OPTIONS_ARE_RIGHT);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--pairs 0",
                "--pairs x",
                "--pairs 1001",
                "--pairs 5..4",
                "--pairs 5..",
                "--pairs ..5",
                "--scale 0",
                "--scale NaN",
                "--device a/b",
                "--rows no-such-row",
                "--rows {send",
                "--json /no/such/folder/bench.json",
                "--json /",
                "surplus"
            })
    void wrongUsageIsToldBeforeAnythingRuns(String line) {
        assertThat(check(line.split(" "))).isEqualTo(BenchCommand.USAGE);
        assertThat(err.toString()).contains("--help").hasLineCount(1);
        assertThat(out.toString()).isEmpty();
    }
}
