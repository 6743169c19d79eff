package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the programs say of addresses before they look for a device. */
class AddressOptionsTests {

    private final StringWriter err = new StringWriter();

    /** Checks a line; a word {@code EMPTY} stands for an empty one. */
    private int check(String line) {
        String[] words = Arrays.stream(line.strip().split(" +"))
                .map(word -> word.equals("EMPTY") ? "" : word)
                .toArray(String[]::new);
        return Rdmatest.execute(
                new PrintWriter(new StringWriter()), new PrintWriter(err, true), () -> false, true, words);
    }

    private void requireUsage(String line, String... named) {
        assertThat(check(line)).as(err.toString()).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains(named).hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping -c -a EMPTY                  | -a",
                "rping -s -a EMPTY                  | -a",
                "rping -c -a 192.0.2.1 -I EMPTY     | -I",
                "ucmatose -s EMPTY                  | -s",
                "ucmatose -b EMPTY                  | -b",
                "udaddy -s EMPTY                    | -s",
                "udaddy -b EMPTY                    | -b",
                "mckey -m EMPTY                     | -m",
                "mckey -m 239.77.0.1 -b EMPTY       | -b",
                "rstream -s EMPTY                   | -s",
                "rstream -b EMPTY                   | -b",
                "rstream -f gid -b EMPTY            | -b",
                "stream -s EMPTY                    | -s",
                "stream -b EMPTY                    | -b",
            })
    void anEmptyAddressIsNotTheLoopback(String line, String option) {
        requireUsage(line, option, "is empty");
    }
}
