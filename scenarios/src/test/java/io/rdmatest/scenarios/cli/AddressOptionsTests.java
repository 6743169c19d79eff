package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.command.ReportingCommand;
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
                "rping -c -a 192.0.2.1 -I EMPTY     | --source",
                "ucmatose -s EMPTY                  | -s",
                "ucmatose -b EMPTY                  | -b",
                "udaddy -s EMPTY                    | -s",
                "udaddy -b EMPTY                    | -b",
                "mckey -m EMPTY                     | --group",
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

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ucmatose -f gid -s zzz             | -s",
                "ucmatose -f gid -b zzz             | -b",
                "udaddy -f gid -s zzz               | -s",
                "udaddy -f gid -b zzz               | -b",
                "rstream -f gid -s zzz              | -s",
                "rstream -f gid -s fe80::1 -b zzz   | -b",
                "rstream -f gid -b 10.77.0.1.2      | -b",
            })
    void whatIsNoGidIsNotLookedUpAsOne(String line, String option) {
        requireUsage(line, option, "is not a GID");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping -c -a 10.77.0.1 -I fd77::1       | -I fd77",
                "rping -c -a fd77::1 -I 10.77.0.1       | -I 10.77.0.1",
                "ucmatose -s 10.77.0.1 -b fd77::1       | -b fd77",
                "ucmatose -f ip -s 10.77.0.1 -b ::      | -b 0:0",
                "udaddy -s fd77::1 -b 10.77.0.1         | -b 10.77.0.1",
                "mckey -m 239.77.0.18 -b fd77::1        | -b fd77",
                "mckey -m ff0e::77:9 -b 10.77.0.1       | -b 10.77.0.1",
                "rstream -s 10.77.0.1 -b fd77::1        | -b fd77",
                "rstream -T s -s fd77::1 -b 10.77.0.1   | -b 10.77.0.1",
            })
    void addressesOfTwoFamiliesLeadNowhere(String line, String named) {
        requireUsage(line, named, "one family");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rping -c -a 10.77.0.1 -I 10.77.0.2",
                "rping -s -a fd77::1 -I 10.77.0.2",
                "ucmatose -s fd77::1 -b fd77::2",
                "ucmatose -s host.example -b fd77::2",
                "udaddy -s 10.77.0.1 -b 10.77.0.2",
                "mckey -m 239.77.0.18 -b 10.77.0.1",
                "mckey -M ff0e::77:9 -b 10.77.0.1",
                "rstream -s 10.77.0.1 -b 10.77.0.2",
                "rstream -s host.example -b 10.77.0.2",
            })
    void addressesThatMayGoTogetherAreTaken(String line) {
        assertThat(check(line)).as(err.toString()).isEqualTo(ReportingCommand.OPTIONS_ARE_RIGHT);
    }
}
