package io.rdmatest.scenarios.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.ExitStatus;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.cli.Rdmatest;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.stream.StreamMode;
import java.io.BufferedReader;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Both sides of the stream by the command line, within this JVM, and what the roles do with wrong data. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "90 s")
class StreamCommandIT {

    private static final Duration SCENARIO = Duration.ofSeconds(60);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private FabricDevice device;

    @BeforeEach
    void findTheDevice(FabricDevice found) {
        device = found;
    }

    @AfterEach
    void endThreads() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
    }

    private record Ended(int status, String out, String err) {}

    /** Runs the server, and the client as soon as the server tells its port. */
    private Ended[] pair(String serverLine, String clientLine) throws Exception {
        StringWriter serverOut = new StringWriter();
        try (PipedReader err = new PipedReader();
                BufferedReader lines = new BufferedReader(err);
                PrintWriter serverErr = new PrintWriter(new PipedWriter(err), true)) {
            Future<Integer> server = threads.submit(() -> {
                try {
                    return Rdmatest.execute(
                            new PrintWriter(serverOut, true),
                            serverErr,
                            ("stream -p 0 --timeout 15s " + serverLine).strip().split(" +"));
                } finally {
                    serverErr.close();
                }
            });
            String told = lines.readLine();
            assertThat(told).startsWith("listening on port ");
            Ended client = run("-s " + device.address().getHostAddress() + " -p "
                    + told.substring("listening on port ".length()) + " --timeout 15s " + clientLine);
            StringBuilder rest = new StringBuilder();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                rest.append(line).append('\n');
            }
            return new Ended[] {
                new Ended(server.get(30, TimeUnit.SECONDS), serverOut.toString(), rest.toString()), client
            };
        }
    }

    private static Ended run(String line) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = Rdmatest.execute(
                new PrintWriter(out, true), new PrintWriter(err, true), ("stream " + line).split(" +"));
        return new Ended(status, out.toString(), err.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "--mode iwarp", "--both-at-once --queue-depth 8", "-B 100 --mode iwarp"})
    void bothSidesVerifyAndEndWithZero(String options) throws Exception {
        String line = "-S 777 -C 20 -I 2 --verify " + options;
        for (Ended side : pair(line, line)) {
            assertThat(side.status).as(side.err).isZero();
            assertThat(side.out).contains("verified: 2 x 20 transfers of 777 bytes each way, 31080 bytes compared");
        }
    }

    @Test
    void jsonIsOneObject() throws Exception {
        Ended[] sides = pair("-S 64 -C 10 -T v --json", "-S 64 -C 10 -T v --json");
        assertThat(sides[0].out).contains("\"side\" : \"server\"").contains("\"bytesVerified\" : 640");
        assertThat(sides[1].out).contains("\"side\" : \"client\"").contains("\"exit\" : 0");
    }

    @Test
    void aFlippedByteFailsTheSideThatVerifies() throws Exception {
        Ended[] sides = pair("-S 500 -C 10 --verify", "-S 500 -C 10 --verify --fault flip-payload-byte");
        assertThat(sides[0].status).isEqualTo(ExitStatus.FABRIC_FAILED.code());
        assertThat(sides[1].status).isEqualTo(ExitStatus.PEER_LOST.code());
        assertThat(sides[1].err).isNotBlank();
    }

    @Test
    void nobodyListens() {
        Ended client = run("-s " + device.address().getHostAddress() + " -p 7999");
        assertThat(client.status).as(client.err).isEqualTo(ExitStatus.PEER_ABSENT.code());
    }

    @Test
    void aSideWithOtherCountsIsToldThatThePeerIsGone() throws Exception {
        Ended[] sides = pair("-S 100 -C 5", "-S 100 -C 6 --timeout 2s");
        assertThat(sides[1].status).as(sides[1].err).isEqualTo(ExitStatus.PEER_LOST.code());
    }

    @Test
    void sidesInDifferentModesAreRefused() throws Exception {
        Ended[] sides = pair("--mode iwarp -S 10 -C 2", "--mode immediate -S 10 -C 2");
        assertThat(sides[0].status).as(sides[0].err).isEqualTo(ExitStatus.REJECTED.code());
        assertThat(sides[0].err).contains("both sides need the same mode");
        assertThat(sides[1].status).isEqualTo(ExitStatus.PEER_LOST.code());
    }

    @ParameterizedTest
    @EnumSource
    void aFaultOfEitherRoleIsFoundByTheOther(StreamMode mode) {
        RmaStreamOptions good =
                RmaStreamOptions.parse("-p 0 --mode", mode, "-S 3000 -C 10 -I 2 --verify --timeout 15s");
        RmaStreamOptions bad = good.and("--fault flip-payload-byte");
        assertThatThrownBy(() -> LocalRoles.runPair(
                        device, new RmaStreamRoles.Server(good), new RmaStreamRoles.Client(bad), SCENARIO))
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("server");
        assertThatThrownBy(() -> LocalRoles.runPair(
                        device, new RmaStreamRoles.Server(bad), new RmaStreamRoles.Client(good), SCENARIO))
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("client");
    }
}
