package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.Ledger;
import io.rdmatest.RdmaException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.role.BringUp;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RpingOptions;
import io.rdmatest.scenarios.role.RpingRoles;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.role.UcmatoseOptions;
import io.rdmatest.scenarios.role.UcmatoseRoles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Our roles against the programs of rdma-core on the same host: what is on the wire is what they speak.
 *
 * <p>Our side decides, by completions, events and payload. What the program prints or returns counts only where it says
 * something: rping and rstream compare data, ucmatose counts it.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InteropIT {

    private static final Duration STEP = Duration.ofSeconds(15);
    private static final Duration SCENARIO = Duration.ofSeconds(30);

    /** Below the ephemeral range, and not the port of any of the programs. */
    private static final int PORT = 20_060;

    @TempDir
    private Path folder;

    private FabricDevice device;
    private String address = "";

    @BeforeEach
    void resolve() {
        device = Fabric.load("auto").local().resolve();
        address = device.address().getHostAddress();
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    // ---- rping ----

    @ParameterizedTest
    @EnumSource(names = {"RDMA_CM", "EXTERNAL_QP"})
    void ourRpingClientPingsTheProgram(BringUp bringUp) throws Exception {
        int port = PORT + bringUp.ordinal();
        try (Program server = start("rping", "-s", "-v", "-a", address, "-p", port, "-S", 1000)) {
            RpingRoles.ClientResult result =
                    connect(server, new RpingRoles.Client(rping(bringUp).withPort(port)));

            assertThat(result.pings()).isEqualTo(12);
            assertThat(result.bytesVerified()).isEqualTo(12_000);
            server.awaitEnd();
            assertThat(server.output()).contains("rdma-ping-11: ");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"RDMA_CM", "EXTERNAL_QP"})
    void theProgramPingsOurRpingServer(BringUp bringUp) throws Exception {
        try (LocalRoles roles = new LocalRoles()) {
            Running<RpingRoles.ServerResult> server =
                    roles.start("server", device, new RpingRoles.Server(rping(bringUp)));
            String port = server.hear("port", STEP);
            try (Program client = start("rping", "-c", "-v", "-V", "-a", address, "-p", port, "-C", 12, "-S", 1000)) {
                RpingRoles.ServerResult result = server.join(SCENARIO);

                assertThat(result.pings()).isEqualTo(12);
                assertThat(result.bytesVerified()).isEqualTo(12_000);
                client.awaitEnd();
                assertThat(client.output()).contains("rdma-ping-11: ").doesNotContain("mismatch");
            }
        }
    }

    private static RpingOptions rping(BringUp bringUp) {
        return RpingOptions.defaults()
                .withPort(0)
                .withSize(1000)
                .withCount(12)
                .withValidation()
                .by(bringUp)
                .withTimeout(STEP);
    }

    // ---- ucmatose ----

    @Test
    void ourUcmatoseClientConnectsToTheProgram() throws Exception {
        int port = PORT + 20;
        try (Program server = start("ucmatose", "-b", address, "-p", port, "-c", 3, "-C", 10, "-S", 200)) {
            UcmatoseRoles.Result result =
                    connect(server, new UcmatoseRoles.Client(connections().withPort(port)));

            assertThat(result.messagesReceived()).isEqualTo(30);
            assertThat(server.awaitEnd()).as(server.output()).isZero();
        }
    }

    @Test
    void theProgramConnectsToOurUcmatoseServer() throws Exception {
        try (LocalRoles roles = new LocalRoles()) {
            Running<UcmatoseRoles.Result> server = roles.start(
                    "server", device, new UcmatoseRoles.Server(connections().withPort(0)));
            String port = server.hear("port", STEP);
            try (Program client = start("ucmatose", "-s", address, "-p", port, "-c", 3, "-C", 10, "-S", 200)) {
                UcmatoseRoles.Result result = server.join(SCENARIO);

                assertThat(result.messagesReceived()).isEqualTo(30);
                assertThat(client.awaitEnd()).as(client.output()).isZero();
            }
        }
    }

    private static UcmatoseOptions connections() {
        return UcmatoseOptions.defaults().withConnections(3).withSizeBytes(200).withTimeout(STEP);
    }

    // ---- programs ----

    /** Runs a client role, again and again until the program listens. */
    private <R> R connect(Program server, Role<R> client) throws Exception {
        long deadline = System.nanoTime() + STEP.toNanos();
        while (true) {
            try (LocalRoles roles = new LocalRoles()) {
                return roles.start("client", device, client).join(SCENARIO);
            } catch (UnexpectedCmEventException e) {
                if (!e.got().equals("RDMA_CM_EVENT_REJECTED")) {
                    throw e;
                }
                server.awaitNextTry(deadline, e);
            } catch (ScenarioException e) {
                if (e.reason() != ScenarioException.Reason.PEER_ABSENT) {
                    throw e;
                }
                server.awaitNextTry(deadline, e);
            } catch (RdmaException e) {
                if (!e.errnoName().equals("ECONNREFUSED")) {
                    throw e;
                }
                server.awaitNextTry(deadline, e);
            }
        }
    }

    private static String program(String name) {
        return Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
                .map(folder -> Path.of(folder, name))
                .filter(Files::isExecutable)
                .findFirst()
                .map(Path::toString)
                .orElseGet(() -> {
                    assumeTrue(false, "the program " + name + " is not installed");
                    throw new AssertionError();
                });
    }

    private Program start(String name, Object... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(program(name));
        Arrays.stream(arguments).map(Object::toString).forEach(command::add);
        Path output = Files.createTempFile(folder, name, ".out");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        return new Program(process, command, output);
    }

    private record Program(Process process, List<String> command, Path file) implements AutoCloseable {

        private String output() throws IOException {
            return command + " printed: " + Files.readString(file);
        }

        /** Waits a moment, in which the program may not end. */
        private void awaitNextTry(long deadline, RuntimeException refusal) throws Exception {
            if (process.waitFor(20, TimeUnit.MILLISECONDS)) {
                throw new AssertionError("status " + process.exitValue() + ", " + output(), refusal);
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new AssertionError("Not listening after " + STEP + ", " + output(), refusal);
            }
        }

        private int awaitEnd() throws Exception {
            if (!process.waitFor(STEP.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("Still running after " + STEP + ", " + output());
            }
            return process.exitValue();
        }

        @Override
        public void close() {
            process.destroyForcibly();
            // Not before it is gone is its port free.
            process.onExit().orTimeout(10, TimeUnit.SECONDS).join();
        }
    }
}
