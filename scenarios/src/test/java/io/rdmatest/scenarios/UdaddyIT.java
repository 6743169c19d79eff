package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Both sides of udaddy, and what can be wrong between them. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "90 s")
class UdaddyIT {

    private static final Duration STEP = Duration.ofSeconds(15);
    private static final Duration SCENARIO = Duration.ofSeconds(60);

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    private static UdaddyOptions options() {
        return UdaddyOptions.parse("--port 0 --timeout", STEP);
    }

    @ParameterizedTest
    @CsvSource({"1, 10, 100", "4, 20, 1", "3, 5, 4", "2, 10, 4096", "20, 0, 0"})
    void everyDatagramIsCompared(int paths, int messages, int size) {
        UdaddyOptions options = options().and("-c", paths, "-C", messages, "-S", size);

        run(options, paths * messages, size);
    }

    @Test
    void overIpv6WithATypeOfService() {
        String address = Addresses.find(device, false).orElseThrow().getHostAddress();

        run(options().and("-s", address, "-b", address, "-t 32"), 10, 100);
    }

    private void run(UdaddyOptions options, int messages, int size) {
        var results =
                LocalRoles.runPair(device, new UdaddyRoles.Server(options), new UdaddyRoles.Client(options), SCENARIO);

        for (UdaddyRoles.Result result : List.of(results.server(), results.client())) {
            assertThat(result.messagesReceived()).isEqualTo(messages);
            assertThat(result.messagesSent()).isEqualTo(messages);
            assertThat(result.bytesVerified()).isEqualTo((long) messages * size);
            assertThat(result.unverified()).isEmpty();
            assertThat(result.reordered()).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({"true, 100", "false, 100", "true, 2", "false, 5"})
    void aFlippedByteIsFound(boolean byServer, int size) {
        UdaddyOptions right = options().and("-S", size);
        UdaddyOptions wrong = right.and("--fault flip-payload-byte");

        Throwable failure = catchThrowable(() -> LocalRoles.runPair(
                device,
                new UdaddyRoles.Server(byServer ? wrong : right),
                new UdaddyRoles.Client(byServer ? right : wrong),
                SCENARIO));

        assertThat(failure)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("path 0 at the " + (byServer ? "client" : "server"));
    }

    @Test
    void aPortThatNobodyListensOnIsAnAbsentPeer() {
        try (EventChannel channel = EventChannel.create();
                CmId bound = channel.createId(PortSpace.UDP)) {
            bound.bind(new InetSocketAddress(device.address(), 0));

            ScenarioException failure = failure(options -> options.and("--port", bound.localPort()));

            assertThat(failure.rdmaCause()).isEqualTo(Cause.PEER_ABSENT);
            assertThat(failure).hasMessageContaining("Nobody listens at ");
        }
    }

    @Test
    void aDatagramLargerThanTheMtuIsRefused() {
        int mtu = device.portAttributes().activeMtu().bytes();

        ScenarioException failure = failure(options -> options.and("--port 7174 -S", mtu + 1));

        assertThat(failure.rdmaCause()).isEqualTo(Cause.SIZE_REFUSED);
        assertThat(failure).hasMessageContaining("exceeds the active MTU of " + mtu);
    }

    @Test
    void theIpoibPortSpaceIsOfInfinibandOnly() {
        ScenarioException failure = failure(options -> options.and("--port 7174 -p ipoib"));

        assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
        assertThat(failure).hasMessageContaining("IPOIB");
    }

    @ParameterizedTest
    @CsvSource({"2, 10, 100, REJECTED", "1, 11, 100, REJECTED", "1, 10, 101, SIZE_REFUSED"})
    void optionsThatDifferAreNamedByBothSides(int paths, int messages, int size, Cause reason) {
        ScenarioException[] failures = new ScenarioException[2];
        LocalRoles roles = new LocalRoles();
        try {
            Running<UdaddyRoles.Result> server = roles.start("server", device, new UdaddyRoles.Server(options()));
            int port = Integer.parseInt(server.hear("port", STEP));
            failures[0] = failure(options -> options.and("--port", port, "-c", paths, "-C", messages, "-S", size));
            failures[1] = catchThrowableOfType(ScenarioException.class, () -> server.join(SCENARIO));
        } finally {
            roles.close();
        }

        assertThat(failures[0].rdmaCause()).isEqualTo(reason);
        assertThat(failures[1].rdmaCause()).isEqualTo(reason);
    }

    private ScenarioException failure(UnaryOperator<UdaddyOptions> change) {
        return catchThrowableOfType(ScenarioException.class, () -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start("client", device, new UdaddyRoles.Client(change.apply(options())))
                        .join(SCENARIO);
            }
        });
    }
}
