package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * {@code ./rdmatest} against the C programs: in one virtual machine, and from one of two hosts to the other, on which nothing
 * but rdma-core is used. One pair of machines runs all of it, one exchange after the other.
 */
@Tag("machines")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 12, unit = TimeUnit.MINUTES)
class CommandsAgainstProgramsIT {

    /**
     * Functions of the scripts. {@code listening} waits until somebody on this host (or with a prefix on the other one)
     * listens: a client that comes earlier is refused. {@code says TEXT FILE} waits until a program has printed something.
     */
    private static final String WAITS = Machines.AWAIT + """
            listens() { "$@" rdma resource show cm_id | grep -q LISTEN; }
            listening() { await listens "$@"; }
            says() { await grep -q "$1" "$2"; }
            """;

    private static String said = "";

    /** A script, whose exit status is that of our side, and what our side says in the end. */
    enum Exchange {
        OUR_CLIENT_PINGS_THE_PROGRAM_ON_ITS_HOST("""
                rping -s -a 10.77.0.1 & server=$!
                listening
                ./rdmatest rping -c -a 10.77.0.1 -C 100 -S 64 -V || exit
                wait $server
                exit 0
                """, "verified: 100 pings of 64 bytes, 6400 bytes compared"),
        THE_PROGRAM_PINGS_OUR_SERVER_ON_ITS_HOST("""
                ./rdmatest rping -s -a 10.77.0.1 --timeout 60s & server=$!
                listening && rping -c -a 10.77.0.1 -C 100 -S 64 -V
                wait $server
                """, "verified: 100 pings of 1 client, 6400 bytes compared"),
        OUR_RPING_CLIENT(
                ourClient("rping -s -a 10.77.0.2 -S 1000", "rping -c -a 10.77.0.2 -C 20 -S 1000 -V"),
                "verified: 20 pings of 1000 bytes"),
        OUR_UCMATOSE_CLIENT(
                ourClient("ucmatose -b 10.77.0.2 -c 3 -C 20 -S 1000", "ucmatose -s 10.77.0.2 -c 3 -C 20 -S 1000"),
                "done: 3 connections, 60 messages received, 60 sent"),
        OUR_RSTREAM_CLIENT(
                ourClient("rstream -b 10.77.0.2 -S 5000 -C 20 -T v", "rstream -s 10.77.0.2 -S 5000 -C 20 -T v"),
                "verified: 1 test over rsockets, 100016 bytes received"),
        OUR_RPING_SERVER(
                ourServer("rping -s -a 10.77.0.1 -S 1000", "rping -c -a 10.77.0.1 -C 20 -S 1000 -V"),
                "verified: 20 pings of 1 client, 20000 bytes compared"),
        OUR_UCMATOSE_SERVER(
                ourServer("ucmatose -b 10.77.0.1 -c 3 -C 20 -S 1000", "ucmatose -s 10.77.0.1 -c 3 -C 20 -S 1000"),
                "done: 3 connections, 60 messages received, 60 sent"),
        OUR_RSTREAM_SERVER(
                ourServer("rstream -b 10.77.0.1 -S 5000 -C 20 -T v", "rstream -s 10.77.0.1 -S 5000 -C 20 -T v"),
                "verified: 1 test over rsockets, 100016 bytes received"),

        /** The program ends only when it has counted all messages, which then came over the wire between two hosts. */
        OUR_MULTICAST_SENDER("""
                said=$(mktemp)
                on-node b stdbuf -oL mckey -m 239.77.3.1 -b 10.77.0.2 -C 20 -S 500 >"$said" 2>&1 & receiver=$!
                says 'joined dgid' "$said"
                ./rdmatest mckey -m 239.77.3.1 -b 10.77.0.1 -C 20 -S 500 -s || exit
                says 'data transfers complete' "$said"
                wait $receiver
                cat "$said"
                exit 0
                """, "sent: 20 messages of 500 bytes", "data transfers complete"),

        /** The program destroys its queue pair on the heels of its last messages, so that some of these may be lost. */
        OUR_MULTICAST_RECEIVER("""
                said=$(mktemp)
                ./rdmatest mckey -m 239.77.3.2 -b 10.77.0.1 -C 10 -S 500 --timeout 60s >"$said" 2>&1 & receiver=$!
                says 'joined' "$said"
                on-node b mckey -m 239.77.3.2 -b 10.77.0.2 -C 20 -S 500 -s
                wait $receiver
                status=$?
                cat "$said"
                exit $status
                """, "received: 10 messages of 500 bytes");

        private final String script;
        private final String[] results;

        Exchange(String script, String... results) {
            this.script = script;
            this.results = results;
        }

        /** The exit status is that of our client; those of the programs are hints only. */
        private static String ourClient(String server, String client) {
            return """
                    on-node b %s & server=$!
                    listening on-node b
                    ./rdmatest %s || exit
                    wait $server
                    exit 0
                    """.formatted(server, client);
        }

        private static String ourServer(String server, String client) {
            return """
                    ./rdmatest %s --timeout 60s & server=$!
                    listening
                    on-node b %s
                    wait $server
                    """.formatted(server, client);
        }

        /** A command that runs the script for a while at most; what it has started then, also on the other host, ends too. */
        private String command() {
            return """
                    echo 'begins %1$s'
                    cat >"$file" <<'END'
                    %2$s
                    END
                    timeout -k 5 90 sh "$file" </dev/null
                    echo "%1$s ended with $?"
                    """.formatted(this, (WAITS + script).stripTrailing());
        }
    }

    @BeforeAll
    static void exchange(@TempDir Path folder) throws Exception {
        String script = Arrays.stream(Exchange.values())
                .map(Exchange::command)
                .collect(Collectors.joining("", "exec 2>&1\nfile=$(mktemp)\n", ""));
        said = Machines.inVm(2, folder.resolve("said"), Duration.ofMinutes(10), Map.of(), script)
                .output();
    }

    @ParameterizedTest
    @EnumSource
    void endsWellAndSaysWhatCame(Exchange exchange) {
        Matcher part = Pattern.compile("(?ms)^begins " + exchange + "$(.*)^" + exchange + " ended with (\\d+)$")
                .matcher(said);
        assertThat(part.find()).as(said).isTrue();
        assertThat(part.group(2)).as(part.group(1)).isEqualTo("0");
        assertThat(part.group(1)).contains(exchange.results);
    }
}
