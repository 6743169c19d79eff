package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ExitStatus;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.cprogram.Ports;
import io.rdmatest.scenarios.cprogram.RdmaResources;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidType;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.opentest4j.TestAbortedException;

/**
 * How the commands end when something is wrong: within their deadlines, each cause with its own exit status and one sentence,
 * and with nothing left behind.
 */
@Tag("slow")
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "300 s")
class CliFailuresIT {

    private static final Duration STEP = Duration.ofSeconds(15);
    private static final Duration END = Duration.ofSeconds(120);
    private static final long LOOK_MILLIS = 20;
    private static final String TIMEOUT = "8s";

    /** The limit of a command that nobody answers: it waits for all of it. */
    private static final String SILENCE = "3s";

    /** So many packets that the transfer is under way beyond doubt. */
    private static final long PACKETS = 300;

    @TempDir
    private Path folder;

    /** How a command ended. */
    private record Ended(int status, String out, String err) {

        /** Requires an exit status, one sentence for it, and no trace of a defect. */
        void requireFailure(String program, ExitStatus expected, String... words) {
            String said = "exit status " + status + "\n" + err + "\n" + out;
            assertThat(status).as(said).isEqualTo(expected.code());
            // What a program tells on the way, such as its port or the group it joined, is no complaint.
            List<String> lines =
                    err.lines().filter(line -> line.startsWith("./rdmatest ")).toList();
            assertThat(lines).as(said).hasSize(1);
            assertThat(err).as("no stack trace").doesNotContain("\tat ");
            assertThat(lines.getFirst()).startsWith("./rdmatest " + program + ": " + expected + ": ");
            for (String word : words) {
                assertThat(lines.getFirst()).containsIgnoringCase(word);
            }
        }
    }

    // ---- nobody there ----

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a ADDRESS -p PORT -C 1",
                "ucmatose | -s ADDRESS -p PORT",
                "udaddy   | -s ADDRESS --port PORT",
                "rstream  | -s ADDRESS -p PORT",
                "rstream  | -s ADDRESS -p PORT -T s",
                "rstream  | -s ADDRESS -p PORT -T r",
                "stream   | -s ADDRESS -p PORT",
            })
    void aPortThatNobodyListensOn(String program, String options, FabricDevice device) {
        run(device, program, options, Ports.next())
                .requireFailure(program, ExitStatus.PEER_ABSENT, "nobody listens", "start");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -a ADDRESS -p PORT",
                "mckey    | -m 239.77.9.1 -b ADDRESS",
                "ucmatose | -b ADDRESS -p PORT",
                "udaddy   | -b ADDRESS --port PORT",
                "rstream  | -b ADDRESS -p PORT",
                "stream   | -b ADDRESS -p PORT",
            })
    void aServerThatNobodyComesTo(String program, String options, FabricDevice device) {
        run(device, program, options + " --timeout 500ms", Ports.next())
                .requireFailure(program, ExitStatus.PEER_ABSENT, "500 ms");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a 192.0.2.1 -C 1",
                "rping    | -c -a 127.0.0.1 -C 1",
                "mckey    | -m 239.77.9.2 -b 192.0.2.1",
                "ucmatose | -s 192.0.2.1",
                "ucmatose | -s 127.0.0.1",
                "udaddy   | -s 192.0.2.1",
                "rstream  | -s 192.0.2.1",
                "rstream  | -s 192.0.2.1 -T r",
                "stream   | -s 192.0.2.1",
            })
    void anAddressWithoutARouteOverAnRdmaDevice(String program, String options, FabricDevice device) {
        run(device, program, options, Ports.next()).requireFailure(program, ExitStatus.NO_ROUTE, "rdma");
    }

    /** A device leads there: whether there is a host is what the network does not say. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a NEIGHBOUR -C 1",
                "ucmatose | -s NEIGHBOUR",
                "udaddy   | -s NEIGHBOUR",
                "rstream  | -s NEIGHBOUR",
                "stream   | -s NEIGHBOUR",
            })
    void aNeighbourThatDoesNotAnswer(String program, String options, FabricDevice device) throws Exception {
        String neighbour = neighbour(device.address()).getHostAddress();
        run(device, program, options.replace("NEIGHBOUR", neighbour) + " --timeout " + SILENCE, Ports.next())
                .requireFailure(program, ExitStatus.PEER_ABSENT, neighbour, "answer");
    }

    /** Another address of the same network, which hardly anybody has; who has it does not listen at the port. */
    private static InetAddress neighbour(InetAddress own) throws IOException {
        int prefix = NetworkInterface.getByInetAddress(own).getInterfaceAddresses().stream()
                .filter(address -> address.getAddress().equals(own))
                .findFirst()
                .orElseThrow()
                .getNetworkPrefixLength();
        byte[] bytes = own.getAddress();
        if (bytes.length * Byte.SIZE - prefix < 7) {
            throw new TestAbortedException(SkipReason.PEER_ABSENT.because(
                    "the network of " + own.getHostAddress() + "/" + prefix + " is too small"));
        }
        bytes[bytes.length - 1] ^= 0x40;
        return InetAddress.getByAddress(bytes);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rstream  | -s ADDRESS -b 192.0.2.7",
                "rstream  | -s ADDRESS -b 192.0.2.7 -T r",
            })
    void aLocalAddressThatNoDeviceHas(String program, String options, FabricDevice device) {
        run(device, program, options, Ports.next())
                .requireFailure(program, ExitStatus.NO_ROUTE, "local address", "192.0.2.7");
    }

    /** It sends at once, and more than a message of rping has. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = "rping | -c -a ADDRESS -p PORT -C 1")
    void aPeerThatIsAnotherProgram(String program, String options, FabricDevice device) throws Exception {
        atServer(device, "ucmatose", "-b ADDRESS -p PORT", program, options)
                .requireFailure(program, ExitStatus.FABRIC_FAILED, "speaks another protocol");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a ADDRESS -p PORT -C 1",
                "ucmatose | -s ADDRESS -p PORT",
                "stream   | -s ADDRESS -p PORT",
            })
    void aListenerThatRejects(String program, String options, FabricDevice device) {
        try (LocalRoles roles = new LocalRoles()) {
            var listener = roles.start("listener", device, new UcmatoseRoles.RejectingServer(new byte[0], END));
            int port = Integer.parseInt(listener.hear("port", STEP));

            run(device, program, options, port).requireFailure(program, ExitStatus.REJECTED, "rejected");

            assertThat(listener.join(STEP)).isNotEmpty();
        }
    }

    /** The program takes one connection, and all of ours ask before the first one stands. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ucmatose | -b ADDRESS -p PORT -c 1 | -s ADDRESS -p PORT -c 8",
            })
    void aCServerThatTakesFewerConnections(String program, String theirs, String ours, FabricDevice device)
            throws Exception {
        Ended ended = atServer(device, program, theirs, program, ours);

        ended.requireFailure(program, ExitStatus.REJECTED, "-c");
        // A request that comes when it has its connections and looks for no more events stays without an answer.
        assertThat(ended.err())
                .containsPattern("rejected the connection|took 1 of 8 connections and does not answer the others");
    }

    /** It sends nothing before it has all its connections. */
    @Test
    void aCServerThatWaitsForMoreConnections(FabricDevice device) throws Exception {
        atServer(
                        device,
                        "ucmatose",
                        "-b ADDRESS -p PORT -c 2",
                        "ucmatose",
                        "-s ADDRESS -p PORT -c 1 --timeout " + SILENCE)
                .requireFailure("ucmatose", ExitStatus.PEER_LOST, "1 of 1 connections established", "-c");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ucmatose | -b ADDRESS -p PORT -C 3     | -s ADDRESS -p PORT -C 4     | REJECTED     | -C",
                "ucmatose | -b ADDRESS -p PORT -c 1     | -s ADDRESS -p PORT -c 2     | REJECTED     | -c",
                "ucmatose | -b ADDRESS -p PORT -S 8     | -s ADDRESS -p PORT -S 9     | SIZE_REFUSED | -S",
                "udaddy   | -b ADDRESS --port PORT -c 1 | -s ADDRESS --port PORT -c 2 | REJECTED     | -c",
                "udaddy   | -b ADDRESS --port PORT -S 8 | -s ADDRESS --port PORT -S 9 | SIZE_REFUSED | -S",
            })
    void twoOfOursThatDisagree(
            String program, String server, String client, ExitStatus expected, String named, FabricDevice device)
            throws Exception {
        int port = Ports.next();
        CompletableFuture<Ended> serving = inBackground(() -> run(device, program, server, port));
        await(
                "our server listens",
                serving,
                () -> RdmaResources.mayListen(ProcessHandle.current().pid()));

        run(device, program, client, port).requireFailure(program, expected, named);

        serving.get(END.toSeconds(), TimeUnit.SECONDS).requireFailure(program, expected, named);
    }

    @Test
    void aPersistentServerEndsWithTheStatusOfAFailedClient(FabricDevice device) throws Exception {
        int port = Ports.next();
        AtomicBoolean interrupted = new AtomicBoolean();
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        String server = "rping -s -P -a ADDRESS -p PORT -S 100";
        CompletableFuture<Ended> serving = inBackground(() -> {
            int status = Rdmatest.execute(
                    new PrintWriter(out), new PrintWriter(err), interrupted::get, false, words(server, device, port));
            return new Ended(status, out.toString(), err.toString());
        });
        await(
                "our server listens",
                serving,
                () -> RdmaResources.mayListen(ProcessHandle.current().pid()));
        Ended well = run(device, "rping", "-c -a ADDRESS -p PORT -C 2 -S 100", port);
        assertThat(well.status()).as(well.err()).isZero();
        run(device, "rping", "-c -a ADDRESS -p PORT -C 2 -S 101", port)
                .requireFailure("rping", ExitStatus.SIZE_REFUSED, "-S");

        interrupted.set(true);

        Ended ended = serving.get(END.toSeconds(), TimeUnit.SECONDS);
        ended.requireFailure("rping", ExitStatus.SIZE_REFUSED, "1 of 2 clients failed", "101 bytes");
        assertThat(ended.out()).startsWith("1 of 2 clients failed: 2 pings of 2 clients, 200 bytes compared");
    }

    // ---- addresses and ports ----

    /** Where one of the two is bound to any address, the kernel speaks of an address that is not there. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -p PORT            | rping    | -s -p PORT",
                "rping    | -s -a ADDRESS -p PORT | rping    | -s -p PORT",
                "rping    | -s -p PORT            | rping    | -s -a ADDRESS -p PORT",
                "ucmatose | -p PORT               | ucmatose | -p PORT",
                "rstream  | -p PORT               | rstream  | -p PORT",
                "rstream  | -b ADDRESS -p PORT    | rstream  | -p PORT",
                "rstream  | -p PORT               | stream   | -b 0.0.0.0 -p PORT",
            })
    void aPortThatIsTaken(String program, String theirs, String ourProgram, String ours, FabricDevice device)
            throws Exception {
        atServer(device, program, theirs, ourProgram, ours)
                .requireFailure(ourProgram, ExitStatus.HOST_NOT_READY, "port", "in use");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a ADDRESS -C 1",
                "ucmatose | -s ADDRESS",
                "udaddy   | -s ADDRESS",
                "rstream  | -s ADDRESS",
            })
    void aGidOfAnotherFamilyThanTheServer(String program, String options, FabricDevice device) {
        int index;
        try (DeviceContext context = device.open()) {
            index = context.gidTable(device.port()).stream()
                    .filter(entry -> entry.type() == GidType.ROCE_V2)
                    .filter(entry ->
                            entry.gid().isIpv4Mapped() != device.gid().gid().isIpv4Mapped())
                    .findFirst()
                    .orElseThrow()
                    .index();
        }
        run(device, program, options + " --gid-index " + index, Ports.next())
                .requireFailure(program, ExitStatus.NO_ROUTE, "GID " + index, "family");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a ADDRESS -I 127.0.0.1 -C 1",
                "rping    | -s -a 127.0.0.1",
                "ucmatose | -s ADDRESS -b 127.0.0.1",
                "udaddy   | -b 127.0.0.1",
                "mckey    | -m 239.77.9.8 -b 127.0.0.1",
                "rstream  | -b 127.0.0.1",
                "rstream  | -s ADDRESS -b 127.0.0.1 -T r",
                "stream   | -b 127.0.0.1",
            })
    void anAddressThatIsNoneOfTheDeviceAskedFor(String program, String options, FabricDevice device) {
        String name = device.device().name();
        run(device, program, options + " --device " + name, Ports.next())
                .requireFailure(program, ExitStatus.NO_ROUTE, "127.0.0.1", name);
    }

    // ---- other programs ----

    @Test
    void anRstreamClientAtAServerOfAnotherProgram(FabricDevice device) throws Exception {
        atServer(device, "rping", "-s -P -a ADDRESS -p PORT", "rstream", "-s ADDRESS -p PORT")
                .requireFailure("rstream", ExitStatus.REJECTED, "not an rsockets server");
    }

    @Test
    void aStreamServerThatAClientOfAnotherProgramComesToGoesOn(FabricDevice device) throws Exception {
        int port = Ports.next();
        String options = "-p PORT -S 100 -C 3 --timeout 60s";
        CompletableFuture<Ended> serving = inBackground(() -> run(device, "stream", "-b ADDRESS " + options, port));
        await(
                "our server listens",
                serving,
                () -> RdmaResources.mayListen(ProcessHandle.current().pid()));
        try (CProgram stranger =
                CProgram.start(STEP, "rping", (Object[]) words("-c -a ADDRESS -p PORT -C 1", device, port))) {
            int ignored = stranger.awaitEnd();
        }

        Ended client = run(device, "stream", "-s ADDRESS " + options, port);

        assertThat(client.status()).as(client.err()).isZero();
        assertThat(serving.get(END.toSeconds(), TimeUnit.SECONDS).status()).isZero();
    }

    // ---- sizes ----

    @Test
    void moreInlineThanTheDeviceSends(FabricDevice device) throws Exception {
        int port = Ports.next();
        CompletableFuture<Ended> serving =
                inBackground(() -> run(device, "rstream", "-b ADDRESS -p PORT --timeout " + SILENCE, port));
        await(
                "our server listens",
                serving,
                () -> RdmaResources.mayListen(ProcessHandle.current().pid()));

        run(device, "rstream", "-s ADDRESS -p PORT -i 65536", port)
                .requireFailure("rstream", ExitStatus.UNSUPPORTED, "65536 bytes inline", "-i");

        // Nobody came.
        serving.get(END.toSeconds(), TimeUnit.SECONDS).requireFailure("rstream", ExitStatus.PEER_ABSENT);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -a ADDRESS -p PORT -S 64 | -c -a ADDRESS -p PORT -S 1000 -C 3",
                "ucmatose | -b ADDRESS -p PORT -S 64    | -s ADDRESS -p PORT -S 1000",
            })
    void aSizeThatTheCServerRefuses(String program, String theirs, String ours, FabricDevice device) throws Exception {
        atServer(device, program, theirs, program, ours).requireFailure(program, ExitStatus.SIZE_REFUSED, "1000", "-S");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "mckey    | -m 239.77.9.3 -b ADDRESS -s -S 5000 | 5000 bytes",
                "udaddy   | -s ADDRESS -S 5000             | 5000 bytes",
            })
    void aSizeOverTheMtu(String program, String options, String named, FabricDevice device) {
        run(device, program, options, Ports.next())
                .requireFailure(program, ExitStatus.SIZE_REFUSED, named, "MTU", "-S");
    }

    // ---- lost in mid-transfer ----

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -a ADDRESS -p PORT -S 4096 | -c -a ADDRESS -p PORT -S 4096",
                "ucmatose | -b ADDRESS -p PORT -C 5000 -S 4096 | -s ADDRESS -p PORT -C 5000 -S 4096",
                // It never gets all that it waits for, so it dies before it answers.
                "udaddy   | -b ADDRESS -C 4000 -S 1000 | -s ADDRESS -C 1000 -S 1000 --timeout 4s",
                "rstream  | -b ADDRESS -p PORT -S 65536 -I 1000 -T v | -s ADDRESS -p PORT -S 65536 -I 1000 -T v",
            })
    void aCServerThatIsKilled(String program, String theirs, String ours, FabricDevice device) throws Exception {
        int port = Ports.next();
        try (CProgram server = CProgram.start(STEP, program, (Object[]) words(theirs, device, port))) {
            server.awaitListening();
            long before = packets(device);
            CompletableFuture<Ended> client = inBackground(() -> run(device, program, ours, port));
            awaitTraffic(device, before, client);

            server.kill();

            client.get(END.toSeconds(), TimeUnit.SECONDS).requireFailure(program, ExitStatus.PEER_LOST, "peer");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // Only with -C does the server know that a client which goes between two pings is not done.
                "rping    | -c -a ADDRESS -p PORT -S 4096 | -s -a ADDRESS -p PORT -S 4096 -C 1000000",
                "ucmatose | -s ADDRESS -p PORT -C 5000 -S 4096 | -b ADDRESS -p PORT -C 5000 -S 4096",
                "rstream  | -s ADDRESS -p PORT -S 65536 -I 1000 -T v | -b ADDRESS -p PORT -S 65536 -I 1000 -T v",
            })
    void aCClientThatIsKilled(String program, String theirs, String ours, FabricDevice device) throws Exception {
        int port = Ports.next();
        CompletableFuture<Ended> server = inBackground(() -> run(device, program, ours, port));
        await(
                "our server listens",
                server,
                () -> RdmaResources.mayListen(ProcessHandle.current().pid()));
        long before = packets(device);
        try (CProgram client = CProgram.start(STEP, program, (Object[]) words(theirs, device, port))) {
            awaitTraffic(device, before, server);

            client.kill();

            server.get(END.toSeconds(), TimeUnit.SECONDS).requireFailure(program, ExitStatus.PEER_LOST, "peer");
        }
    }

    /** No C program speaks this protocol: the other side is ours, in a process of its own. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "stream | -b ADDRESS -p PORT -S 65536 -I 1000 -T v | -s ADDRESS -p PORT -S 65536 -I 1000 -T v --timeout 60s",
            })
    void aServerOfOursThatIsKilled(String program, String theirs, String ours, FabricDevice device) throws Exception {
        int port = Ports.next();
        Process server = startJvm(program, words(theirs, device, port));
        try {
            await("the server's JVM listens", server.onExit(), () -> RdmaResources.mayListen(server.pid()));
            long before = packets(device);
            CompletableFuture<Ended> client = inBackground(() -> run(device, program, ours, port));
            awaitTraffic(device, before, client);

            server.destroyForcibly();

            client.get(END.toSeconds(), TimeUnit.SECONDS).requireFailure(program, ExitStatus.PEER_LOST, "peer");
        } finally {
            server.destroyForcibly();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "stream | -s ADDRESS -p PORT -S 65536 -I 1000 -T v --timeout 60s | -b ADDRESS -p PORT -S 65536 -I 1000 -T v",
            })
    void aClientOfOursThatIsKilled(String program, String theirs, String ours, FabricDevice device) throws Exception {
        int port = Ports.next();
        CompletableFuture<Ended> server =
                inBackground(() -> run(device, program, ours + " --timeout " + END.toSeconds() + "s", port));
        await(
                "our server listens",
                server,
                () -> RdmaResources.mayListen(ProcessHandle.current().pid()));
        long before = packets(device);
        Process client = startJvm(program, words(theirs, device, port));
        try {
            await("packets flow", client.onExit(), () -> packets(device) - before >= PACKETS);

            client.destroyForcibly();

            server.get(END.toSeconds(), TimeUnit.SECONDS).requireFailure(program, ExitStatus.PEER_LOST, "peer");
        } finally {
            client.destroyForcibly();
        }
    }

    /** Whatever a JVM held goes with it: that is the kernel's work, and nothing of ours may stand in its way. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -s -a ADDRESS -p PORT -P -S 4096 | -c -a ADDRESS -p PORT -S 4096",
            })
    void aJvmOfOursThatIsKilled(String program, String ours, String theirs, FabricDevice device) throws Exception {
        int port = Ports.next();
        Process server = startJvm(program, words(ours, device, port));
        try {
            CompletableFuture<Process> ended = server.onExit();
            await("the server's JVM listens", ended, () -> RdmaResources.mayListen(server.pid()));
            long before = packets(device);
            try (CProgram client = CProgram.start(STEP, program, (Object[]) words(theirs, device, port))) {
                awaitTraffic(device, before, ended);
                List<String> held = RdmaResources.of(server.pid());
                // The least that a connection needs, besides the listener.
                assertThat(held).as(text(said())).anyMatch(name -> name.contains("lqpn"));

                server.destroyForcibly();

                assertThat(server.waitFor(STEP.toSeconds(), TimeUnit.SECONDS)).isTrue();
                await(
                        "the kernel frees all that the JVM held",
                        new CompletableFuture<>(),
                        () -> Collections.disjoint(RdmaResources.all(), held));
                int ignored = client.awaitEnd();
            }
        } finally {
            server.destroyForcibly();
        }
    }

    // ---- usage, host and what nobody can do ----

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a ADDRESS --nonsense    | --nonsense",
                "rping    | -c -a ADDRESS -S 22         | 22",
                "rping    | -c -a ADDRESS -p 65536      | 65536",
                "rping    | -c -a ADDRESS -C many       | many",
                "rping    | -a ADDRESS                  | -s",
                "rping    | -c -a ADDRESS --timeout 0   | --timeout",
                "mckey    | -b ADDRESS                  | -m",
                "mckey    | -m 239.77.9.4 -c 0          | -c",
                "ucmatose | -s ADDRESS -c 0              | connections",
                "ucmatose | -s ADDRESS -S -1             | -1",
                "ucmatose | -s ADDRESS -P udp            | udp",
                "ucmatose | -s ADDRESS -f mac            | mac",
                "ucmatose | -s ADDRESS -f ip -b here     | here",
                "ucmatose | -s ADDRESS -t 256            | 256",
                "ucmatose | -s ADDRESS -p 0              | -p",
                "udaddy   | -s ADDRESS -p tcp            | tcp",
                "udaddy   | -s ADDRESS --port 0          | --port",
                "udaddy   | -s ADDRESS -C -1             | -1",
                "rstream  | -s ADDRESS -T x              | -T",
                "rstream  | -s ADDRESS -p 0              | -p",
                "rstream  | -s ADDRESS -S some           | some",
                "rstream  | -s ADDRESS -B -1             | -1",
                "stream   | -s ADDRESS -B 15             | 15",
                "stream   | -s ADDRESS -T s              | -T",
                "stream   | -s ADDRESS -p 0              | -p",
                "stream   | -s ADDRESS --mode fast       | fast",
            })
    void wrongUsage(String program, String options, String named, FabricDevice device) {
        run(device, program, options, Ports.next()).requireFailure(program, ExitStatus.USAGE, named, "--help");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a ADDRESS -C 1",
                "mckey    | -m 239.77.9.5",
                "ucmatose | -s ADDRESS",
                "udaddy   | -s ADDRESS",
                "rstream  | -s ADDRESS",
                "stream   | -s ADDRESS",
            })
    void aDeviceThatDoesNotExist(String program, String options, FabricDevice device) {
        run(device, program, options + " --device none7", Ports.next())
                .requireFailure(
                        program,
                        ExitStatus.HOST_NOT_READY,
                        "none7",
                        device.device().name());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "mckey    | -m 0.0.0.0 -b ADDRESS                 | InfiniBand",
                "mckey    | -M ff0e::77:9 -b ADDRESS              | ff0e:",
                "ucmatose | -f gid -s fe80::1                     | InfiniBand",
                "ucmatose | -f gid -b fe80::1                     | InfiniBand",
                "udaddy   | -f gid -s fe80::1                     | InfiniBand",
                "udaddy   | -s ADDRESS -p ipoib                   | InfiniBand",
                "rstream  | -f gid -s fe80::1                     | InfiniBand",
                "rstream  | -f gid -b fe80::1                     | InfiniBand",
            })
    void whatRoceCannotDo(String program, String options, String named, FabricDevice device) {
        run(device, program, options, Ports.next()).requireFailure(program, ExitStatus.UNSUPPORTED, named);
    }

    // ---- running and waiting ----

    /** Runs a command to its end within this JVM. */
    private static Ended run(FabricDevice device, String program, String options, int port) {
        List<String> words = new ArrayList<>(List.of(program));
        if (!options.contains("--timeout")) {
            words.addAll(List.of("--timeout", TIMEOUT));
        }
        words.addAll(List.of(words(options, device, port)));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = Rdmatest.execute(new PrintWriter(out), new PrintWriter(err), words.toArray(String[]::new));
        return new Ended(status, out.toString(), err.toString());
    }

    /** Runs a command to its end beside a C program's server on the same port. */
    private static Ended atServer(
            FabricDevice device, String theirProgram, String theirs, String ourProgram, String ours) throws Exception {
        int port = Ports.next();
        try (CProgram server = CProgram.start(STEP, theirProgram, (Object[]) words(theirs, device, port))) {
            server.awaitListening();
            return run(device, ourProgram, ours, port);
        }
    }

    private static String[] words(String options, FabricDevice device, int port) {
        return options.replace("ADDRESS", device.address().getHostAddress())
                .replace("PORT", Integer.toString(port))
                .strip()
                .split("\\s+");
    }

    /** Runs a command in a process of its own, whose output goes to {@link #said}. */
    private Process startJvm(String program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Rdmatest.class.getName(),
                program));
        command.addAll(List.of(options));
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said().toFile())
                .start();
    }

    private Path said() {
        return folder.resolve("said");
    }

    private static <T> CompletableFuture<T> inBackground(Callable<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofPlatform().daemon(true).name("rdmatest-command").start(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    /** Waits until a transfer is under way. */
    private static void awaitTraffic(FabricDevice device, long before, CompletableFuture<?> ours) throws Exception {
        await("packets flow", ours, () -> packets(device) - before >= PACKETS);
    }

    /** Waits until something is so, as long as a command of ours runs on. */
    private static void await(String what, CompletableFuture<?> ours, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + END.toNanos();
        while (!condition.call()) {
            try {
                throw new AssertionError(
                        what + ": ours ended before that: " + ours.get(LOOK_MILLIS, TimeUnit.MILLISECONDS));
            } catch (TimeoutException e) {
                assertThat(System.nanoTime() - deadline)
                        .as("%s: not within %s", what, END)
                        .isNegative();
            }
        }
    }

    /** Returns how many packets the port has sent, by the kernel's counters. */
    private static long packets(FabricDevice device) {
        Path port = Path.of("/sys/class/infiniband", device.device().name(), "ports", Integer.toString(device.port()));
        try {
            for (String counter : List.of("hw_counters/sent_pkts", "counters/port_xmit_packets")) {
                Path file = port.resolve(counter);
                if (Files.isReadable(file)) {
                    return Long.parseLong(Files.readString(file).strip());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(port + " has no counter of packets"));
    }

    private static String text(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.UTF_8);
    }
}
