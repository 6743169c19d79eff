package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Cause;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.ScenarioException;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A group that delivers only after a while, as behind a switch that learns its members. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExclusiveDevice
class MulticastProbeIT {

    private static final Duration STEP = Duration.ofSeconds(30);

    private FabricDevice device;

    @BeforeEach
    void resolve() {
        device = Fabric.load("auto").local().resolve();
    }

    private static MckeyOptions options() {
        return MckeyOptions.parse("-m 239.77.0.42 -C 1 --timeout", STEP);
    }

    /** The first messages are lost: nobody is a member yet. Nothing of them is judged. */
    @Test
    void probesAreSentUntilOneArrives() {
        try (LocalRoles roles = new LocalRoles()) {
            Running<Long> sender = roles.start("sender", device, new MulticastRoles.ProbeSender(options()));
            assertThat(sender.hear("joining the group", STEP)).startsWith("joined");
            Running<Boolean> receiver = roles.start("receiver", device, new MulticastRoles.ProbeReceiver(options()));
            assertThat(receiver.hear("joining the group", STEP)).startsWith("joined");
            assertThat(receiver.hear("the first message", STEP)).isEqualTo("heard");
            sender.tell("heard");
            long probes = Long.parseLong(sender.hear("the number of probes", STEP));
            // One alone can only have been sent before the receiver was there.
            assertThat(probes).isGreaterThan(1);
            sender.tell("end");
            receiver.tell("end");
            assertThat(sender.join(STEP)).isEqualTo(probes);
            assertThat(receiver.join(STEP)).isTrue();
        }
    }

    @Test
    void aGroupThatNeverDeliversIsNamed() {
        Throwable failure = catchThrowable(() -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start(
                                "receiver",
                                device,
                                new MulticastRoles.ProbeReceiver(options().and("--timeout 1s")))
                        .join(STEP);
            }
        });
        assertThat(failure)
                .isInstanceOfSatisfying(
                        ScenarioException.class, e -> assertThat(e.rdmaCause()).isEqualTo(Cause.PEER_ABSENT))
                .hasMessageContaining("No message to the group 239.77.0.42 arrived")
                .hasMessageContaining("snooping");
    }
}
