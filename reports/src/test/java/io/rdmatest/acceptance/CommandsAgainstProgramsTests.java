package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code ./rdmatest} against the C programs: in one virtual machine, and from one of two hosts to the other, on which nothing
 * but rdma-core is used.
 */
@EnabledIf(
        value = "io.rdmatest.acceptance.Machines#prepared",
        disabledReason = "the project is not packaged, or no virtual machine can be started here")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class CommandsAgainstProgramsTests {

    /**
     * Functions of the scripts. {@code listening} waits until somebody on this host (or with a prefix on the other one)
     * listens: a client that comes earlier is refused. {@code says TEXT FILE} waits until a program has printed something.
     */
    private static final String WAITS = Machines.AWAIT + """
            listens() { "$@" rdma resource show cm_id | grep -q LISTEN; }
            listening() { await listens "$@"; }
            says() { await grep -q "$1" "$2"; }
            """;

    @TempDir
    private Path folder;

    @Test
    void ourClientPingsTheProgramInOneMachine() throws Exception {
        Ended ended = inVm(1, "rping -s -a 10.77.0.1 & ./rdmatest rping -c -a 10.77.0.1 -C 100 -S 64 -V");

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("verified: 100 pings of 64 bytes, 6400 bytes compared");
    }

    @Test
    void theProgramPingsOurServerInOneMachine() throws Exception {
        Ended ended = inVm(1, WAITS + """
                ./rdmatest rping -s -a 10.77.0.1 --timeout 60s & server=$!
                listening && rping -c -a 10.77.0.1 -C 100 -S 64 -V
                wait $server
                """);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("verified: 100 pings of 1 client, 6400 bytes compared");
    }

    /** The exit status is that of our client; those of the programs are hints only. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -a 10.77.0.2 -S 1000          | -c -a 10.77.0.2 -C 20 -S 1000 -V      | verified: 20 pings of 1000 bytes",
                "ucmatose | -b 10.77.0.2 -c 3 -C 20 -S 1000  | -s 10.77.0.2 -c 3 -C 20 -S 1000       | done: 3 connections, 60 messages came and 60 went",
                "rstream  | -b 10.77.0.2 -S 5000 -C 20 -T v  | -s 10.77.0.2 -S 5000 -C 20 -T v       | verified: 1 test over rsockets, 100016 bytes received",
            })
    void ourClientAgainstTheProgramOnTheOtherHost(String program, String server, String client, String result)
            throws Exception {
        Ended ended = inVm(2, WAITS + """
                on-node b %1$s %2$s & server=$!
                listening on-node b
                ./rdmatest %1$s %3$s || exit
                wait $server
                exit 0
                """.formatted(program, server, client));

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains(result);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -a 10.77.0.1 -S 1000          | -c -a 10.77.0.1 -C 20 -S 1000 -V      | verified: 20 pings of 1 client, 20000 bytes compared",
                "ucmatose | -b 10.77.0.1 -c 3 -C 20 -S 1000  | -s 10.77.0.1 -c 3 -C 20 -S 1000       | done: 3 connections, 60 messages came and 60 went",
                "rstream  | -b 10.77.0.1 -S 5000 -C 20 -T v  | -s 10.77.0.1 -S 5000 -C 20 -T v       | verified: 1 test over rsockets, 100016 bytes received",
            })
    void ourServerAgainstTheProgramOnTheOtherHost(String program, String server, String client, String result)
            throws Exception {
        Ended ended = inVm(2, WAITS + """
                ./rdmatest %1$s %2$s --timeout 60s & server=$!
                listening
                on-node b %1$s %3$s
                wait $server
                """.formatted(program, server, client));

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains(result);
    }

    /** The program ends only when it has counted all messages, which then came over the wire between two hosts. */
    @Test
    void ourSenderReachesTheProgramOnTheOtherHost() throws Exception {
        Ended ended = inVm(2, WAITS + """
                said=$(mktemp)
                on-node b stdbuf -oL mckey -m 239.77.3.1 -b 10.77.0.2 -C 20 -S 500 >"$said" 2>&1 & receiver=$!
                says 'joined dgid' "$said"
                ./rdmatest mckey -m 239.77.3.1 -b 10.77.0.1 -C 20 -S 500 -s || exit
                says 'data transfers complete' "$said"
                wait $receiver
                cat "$said"
                exit 0
                """);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("sent: 20 messages of 500 bytes", "data transfers complete");
    }

    /** The program destroys its queue pair on the heels of its last messages, so that some of these may be lost. */
    @Test
    void theProgramOnTheOtherHostReachesOurReceiver() throws Exception {
        Ended ended = inVm(2, WAITS + """
                said=$(mktemp)
                ./rdmatest mckey -m 239.77.3.2 -b 10.77.0.1 -C 10 -S 500 --timeout 60s >"$said" 2>&1 & receiver=$!
                says 'joined' "$said"
                on-node b mckey -m 239.77.3.2 -b 10.77.0.2 -C 20 -S 500 -s
                wait $receiver
                status=$?
                cat "$said"
                exit $status
                """);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("received: 10 messages of 500 bytes");
    }

    private Ended inVm(int nodes, String script) throws Exception {
        return Machines.inVm(nodes, folder.resolve("said"), Duration.ofMinutes(5), Map.of(), script);
    }
}
