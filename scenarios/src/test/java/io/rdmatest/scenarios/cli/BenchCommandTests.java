package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchCommandTests {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int check(String... args) {
        return Rdmatest.execute(
                List.of(new BenchCommand()),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                () -> false,
                true,
                args);
    }

    @Test
    void listingNeedsNoDeviceAndBootsNoMachine() {
        assertThat(check("bench", "--list", "--rows", "send-*")).isZero();
        assertThat(out.toString().lines().map(line -> line.split(" ")[0]))
                .containsExactly("send-lat-64", "send-bw-64k", "send-bw-1m", "send-rate-64");
        assertThat(out.toString()).contains("<= 1.05", ">= 1.20", "ib_send_lat");
    }

    @Test
    void workThatGrowsIsListedToo() {
        assertThat(check("bench", "--list", "--rows", "growth-*")).isZero();
        assertThat(out.toString().lines().map(line -> line.split(" ")[0]))
                .containsExactly("growth-connections", "growth-qps", "growth-size", "growth-tests");
        assertThat(out.toString()).contains("flat");
    }

    @Test
    void measuringNeedsOne() {
        assertThat(check("bench", "--rows", "mckey", "--pairs", "1")).isEqualTo(Rdmatest.OPTIONS_ARE_RIGHT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "1000", "5..5", "5..15"})
    void pairsAreANumberOrTwo(String pairs) {
        assertThat(check("bench", "--rows", "mckey", "--pairs", pairs)).isEqualTo(Rdmatest.OPTIONS_ARE_RIGHT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "0,1", "8191,0"})
    void processorsAreTwoOrAny(String processors) {
        // Which ones there are is known only where it is measured, which may be in a virtual machine.
        assertThat(check("bench", "--rows", "mckey", "--processors", processors))
                .isEqualTo(Rdmatest.OPTIONS_ARE_RIGHT);
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
                "--processors 0",
                "--processors 0,0",
                "--processors 0,1,2",
                "--processors 0,x",
                "--processors -1,0",
                "--processors -1,-1",
                "--processors 10000,0",
                "--processors 0,8192",
                "--processors all",
                "--rows no-such-row",
                "--rows {send",
                "--json /no/such/folder/bench.json",
                "--compare /no/such/bench.json",
                "--compare /",
                "--compare /dev/null",
                "surplus"
            })
    void wrongUsageIsToldBeforeAnythingRuns(String line) {
        assertThat(check(("bench " + line).split(" "))).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("--help").hasLineCount(1);
        // Its --json names a file: nobody reads an object on standard output.
        assertThat(out.toString()).isEmpty();
    }
}
