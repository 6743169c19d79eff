package io.rdmatest.scenarios.bench;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.engine.LocalRoles;
import io.rdmatest.scenarios.engine.LocalRoles.Running;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.net.InetAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * The work of the five C programs as tests, both sides of each in this JVM: connections, datagrams, pings, multicast, streams.
 * {@link QualificationContest} runs them in a JVM of their own, one for each of its programs.
 */
@RdmaTest(timeout = "5 min")
final class StandardTests {

    static final int PINGS = 100;
    static final int PING_SIZE = 1024;
    static final int CONNECTIONS = 10;
    static final int MESSAGES = 10;
    static final int MESSAGE_SIZE = 100;
    static final String GROUP = "239.77.5.2";
    static final int DATAGRAMS = 100;

    private static final String TAKES = " takes ms: ";

    private static final Duration STEP = Duration.ofMinutes(2);

    /**
     * Runs the tests; ends with 0 if each of them passed.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        long began = System.nanoTime();
        TestCounter counter = TestCounter.run(StandardTests.class, new Times());
        try {
            counter.require(QualificationContest.PROGRAMS.size());
            System.out.println("all" + TAKES + (System.nanoTime() - began) / 1_000_000);
        } catch (NotMeasuredException e) {
            System.out.println(e.getMessage());
            System.exit(1);
        }
        System.exit(0);
    }

    /** Prints how long each test takes; they run one after the other. */
    private static final class Times implements TestExecutionListener {

        private long since;

        @Override
        public void executionStarted(TestIdentifier test) {
            since = System.nanoTime();
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (test.isTest()) {
                System.out.println(name(test.getDisplayName()) + TAKES + (System.nanoTime() - since) / 1_000_000);
            }
        }
    }

    private static String name(String displayName) {
        return displayName.replaceFirst("\\(.*", "");
    }

    /** Reads what {@link #main} printed: milliseconds by test, and of {@code all} from the start of main. */
    static Map<String, Object> millis(List<String> output) {
        Map<String, Object> millis = new LinkedHashMap<>();
        for (String line : output) {
            String[] parts = line.split(TAKES, 2);
            if (parts.length == 2) {
                millis.put(parts[0], Long.valueOf(parts[1]));
            }
        }
        return millis;
    }

    @Test
    void pings(FabricDevice device) {
        RpingOptions options = RpingOptions.defaults()
                .withPort(0)
                .withSize(PING_SIZE)
                .withCount(PINGS)
                .withValidation()
                .withTimeout(STEP);
        long verified = LocalRoles.runPair(device, new RpingRoles.Server(options), new RpingRoles.Client(options), STEP)
                .client()
                .bytesVerified();
        require(verified == (long) PINGS * PING_SIZE, verified + " bytes of pings are verified");
    }

    @Test
    void connections(FabricDevice device) {
        UcmatoseOptions options = UcmatoseOptions.defaults()
                .withPort(0)
                .withConnections(CONNECTIONS)
                .withMessages(MESSAGES)
                .withSizeBytes(MESSAGE_SIZE)
                .withTimeout(STEP)
                .withFirstClientTimeout(STEP);
        int connections = LocalRoles.runPair(
                        device, new UcmatoseRoles.Server(options), new UcmatoseRoles.Client(options), STEP)
                .client()
                .times()
                .size();
        require(connections == CONNECTIONS, connections + " connections came up");
    }

    @Test
    void datagrams(FabricDevice device) {
        UdaddyOptions options = UdaddyOptions.defaults()
                .withPort(0)
                .withConnections(CONNECTIONS)
                .withMessages(MESSAGES)
                .withSizeBytes(MESSAGE_SIZE)
                .withTimeout(STEP);
        Object ignored = LocalRoles.runPair(
                device,
                new UdaddyRoles.Server(options),
                new UdaddyRoles.Client(
                        options.withServerAddress(device.address().getHostAddress())),
                STEP);
    }

    @Test
    void multicast(FabricDevice device) {
        MckeyOptions options = MckeyOptions.defaults()
                .withGroup(InetAddress.ofLiteral(GROUP))
                .withBind(device.address())
                .withMessages(DATAGRAMS)
                .withSettle(Duration.ZERO)
                .withTimeout(STEP)
                .withSenderTimeout(STEP);
        try (LocalRoles roles = new LocalRoles()) {
            Running<MulticastRoles.Received> receiver =
                    roles.start("receiver", device, new MulticastRoles.Receiver(options, false));
            String ignored = receiver.hear("joining the group", STEP);
            long sent = roles.start("sender", device, new MulticastRoles.Sender(options))
                    .join(STEP)
                    .messages();
            long received = receiver.join(STEP).messages();
            require(sent == received, received + " of " + sent + " datagrams arrived");
        }
    }

    @Test
    void streams(FabricDevice device) {
        RstreamOptions options = RstreamOptions.defaults()
                .withPort(0)
                .withOnDevice(true)
                .withFirstWait(STEP)
                .withTimeout(STEP);
        int rows = LocalRoles.runPair(device, new StreamRoles.Server(options), new StreamRoles.Client(options), STEP)
                .client()
                .timings()
                .size();
        int wanted = options.series().stream().mapToInt(List::size).sum();
        require(rows == wanted, rows + " of " + wanted + " rows were measured");
    }

    private static void require(boolean so, String what) {
        if (!so) {
            throw new AssertionError(what);
        }
    }
}
