package io.rdmatest.scenarios;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmatest.Cause;
import io.rdmatest.Measurement;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.peer.RemoteFailureException;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.mckey.MulticastRoles.Received;
import io.rdmatest.scenarios.mckey.MulticastRoles.Sent;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.Delivery;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.LinkLayer;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/** Multicast with delivery, the ground of mckey(1): who has joined receives, who has not does not. */
@RdmaTest(timeout = "60 s")
@Tag(Phase.DATA_TAG)
@DisplayName("Multicast")
public class MulticastScenarios {

    @ParameterizedTest(name = "{0}, two receivers")
    @EachOptionLine({
        "-m 239.77.0.1 -S 0",
        "-m 239.77.0.1 -S 1",
        "-m 239.77.0.1 -S 20",
        "-m 239.77.0.1 -S 100",
        "-m 239.77.0.1 -S 1000 -C 100",
        "-m 239.77.0.1 -C 0",
        "-m 239.77.0.1 -c 4 -C 20 -p 273",
        "-M ::ffff:239.77.0.1 -S 200",
        "-m ff0e::77:1",
        "-m 239.77.0.1 -p 0x0002"
    })
    void delivery(
            MckeyOptions options, Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        InetAddress group = options.group();
        if (group != null) {
            requireFamily(group, device);
        }
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> first = cast.receiver("receiver 1", options);
            Running<Received> second = cast.receiver("receiver 2", options);
            Running<Sent> sender = cast.sender("sender", options);
            cast.round(0, List.of(sender), List.of(first, second));
            cast.end(List.of(sender), List.of(first, second));
        } catch (ScenarioException | RemoteFailureException e) {
            throw skipIfUnsupported(e);
        }
    }

    @Test
    @DisplayName("many queue pairs on both sides")
    void manyQueuePairs(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        // All of them attach to one group, the senders', too: soft-RoCE takes 56.
        MckeyOptions options = group("239.77.0.6", device).and("-c 24 -C 4");
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> receiver = cast.receiver("receiver", options);
            Running<Sent> sender = cast.sender("sender", options);
            cast.round(0, List.of(sender), List.of(receiver));
            Received received = cast.end(List.of(sender), List.of(receiver)).getFirst();
            assertEquals(24 * 24, received.deliveries().size(), "pairs of receiver and sender");
            assertEquals(24 * 24 * 4, received.messages());
        }
    }

    @Test
    @DisplayName("more send-only queue pairs than a group can have members")
    void manySendOnlyQueuePairs(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        MckeyOptions options = group("239.77.0.7", device).and("-C 5");
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Sent> one = cast.sender("one sender", options.and("-o"));
            cast.end(List.of(one), List.of());
        } catch (ScenarioException | RemoteFailureException e) {
            throw skipIfUnsupported(e);
        }
        // Where one can join, none of many may be refused: that a member which only sends is not attached is the point.
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> receiver = cast.receiver("receiver", options.and("-c 2"));
            Running<Sent> sender = cast.sender("sender", options.and("-c 96 -o"));
            cast.round(0, List.of(sender), List.of(receiver));
            Received received = cast.end(List.of(sender), List.of(receiver)).getFirst();
            assertEquals(2 * 96 * 5, received.messages());
        }
    }

    @Test
    @DisplayName("two senders at once")
    void twoSenders(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        MckeyOptions options = group("239.77.0.8", device).and("-C 50");
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> first = cast.receiver("receiver 1", options.and("--senders 2"));
            Running<Received> second = cast.receiver("receiver 2", options.and("--senders 2"));
            Running<Sent> one = cast.sender("sender 1", options);
            Running<Sent> other = cast.sender("sender 2", options.and("-c 2"));
            cast.round(0, List.of(one, other), List.of(first, second));
            for (Received received : cast.end(List.of(one, other), List.of(first, second))) {
                assertEquals(3 * 50, received.messages());
                assertEquals(
                        3,
                        received.deliveries().stream()
                                .map(Delivery::senderQp)
                                .distinct()
                                .count());
            }
        }
    }

    @Test
    @DisplayName("nothing after leaving, and again after joining again")
    void leave(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        MckeyOptions options = group("239.77.0.2", device);
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> stays = cast.receiver("receiver 1", options);
            Running<Received> leaves = cast.receiver("receiver 2", options);
            Running<Received> comesBack = cast.receiver("receiver 3", options);
            Running<Sent> sender = cast.sender("sender", options);
            cast.round(0, List.of(sender), List.of(stays, leaves, comesBack));
            cast.order("leave", leaves, comesBack);
            // What the one that stays has received, the others would have received too: no need to wait for silence.
            cast.round(1, List.of(sender), List.of(stays));
            cast.order("join", comesBack);
            // Had something of round 1 reached the one that comes back, it would now find stale messages.
            cast.round(2, List.of(sender), List.of(stays, comesBack));
            List<Received> results = cast.end(List.of(sender), List.of(stays, leaves, comesBack));
            assertEquals(
                    List.of(30L, 10L, 20L),
                    results.stream().map(Received::messages).toList());
        }
    }

    @Test
    @DisplayName("two groups do not mix")
    void twoGroups(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        MckeyOptions one = group("239.77.0.3", device);
        MckeyOptions other = group("239.77.0.4", device);
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> first = cast.receiver("receiver of group 1", one);
            Running<Received> second = cast.receiver("receiver of group 2", other);
            Running<Sent> toFirst = cast.sender("sender to group 1", one);
            Running<Sent> toSecond = cast.sender("sender to group 2", other);
            cast.round(0, List.of(toFirst), List.of(first));
            cast.round(0, List.of(toSecond), List.of(second));
            cast.round(1, List.of(toFirst), List.of(first));
            cast.end(List.of(toFirst, toSecond), List.of(first, second));
        }
    }

    @Test
    @DisplayName("send-only join")
    void sendOnly(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        MckeyOptions options = group("239.77.0.5", device);
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> receiver = cast.receiver("receiver", options);
            Running<Sent> sender = cast.sender("sender", options.and("-o"));
            cast.round(0, List.of(sender), List.of(receiver));
            cast.end(List.of(sender), List.of(receiver));
        } catch (ScenarioException | RemoteFailureException e) {
            throw skipIfUnsupported(e);
        }
    }

    @Test
    @DisplayName("blocked loopback keeps messages from this host")
    void blockedLoopback(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        MckeyOptions options = group("239.77.0.9", device);
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage.ofClient(), report, settings);
            Running<Received> receiver = cast.receiver("receiver", options);
            Running<Sent> blocked = cast.sender("sender with blocked loopback", options.and("-l"));
            Running<Sent> heard = cast.sender("sender", options);
            cast.round(0, List.of(blocked), List.of());
            // They all take the same way: what was sent later has come, so what was sent before would have.
            cast.round(1, List.of(heard), List.of(receiver));
            cast.end(List.of(blocked, heard), List.of(receiver));
        } catch (ScenarioException | RemoteFailureException e) {
            throw skipIfUnsupported(e);
        }
    }

    @Test
    @DisplayName("messages as large as the MTU")
    void largest(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        int mtu = Math.min(
                stage.server().facts().mtuBytes(), stage.client().facts().mtuBytes());
        MckeyOptions options = group("239.77.0.10", device).and("-S", mtu);
        report.parameter("MTU", mtu);
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Received> receiver = cast.receiver("receiver", options);
            Running<Sent> sender = cast.sender("sender", options);
            cast.round(0, List.of(sender), List.of(receiver));
            cast.end(List.of(sender), List.of(receiver));
        }
    }

    @ParameterizedTest(name = "sender: {0}")
    @ValueSource(booleans = {true, false})
    @DisplayName("messages larger than the MTU are refused")
    void tooLarge(
            boolean sender, Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings, Wire wire) {
        wire.silent("the size is refused before a group is joined");
        int mtu = (sender ? stage.client() : stage.server()).facts().mtuBytes();
        MckeyOptions options = group("239.77.0.11", device).and("-S", mtu + 1);
        report.parameter("MTU", mtu);
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            RuntimeException refused = assertThrows(RuntimeException.class, () -> {
                if (sender) {
                    cast.sender("sender", options);
                } else {
                    cast.receiver("receiver", options);
                }
            });
            if (Cause.of(refused) != Cause.SIZE_REFUSED) {
                throw refused;
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @EachOptionLine({"-m 0.0.0.0 -C 5", "-M 0 -C 5"})
    @DisplayName("a group that the subnet administrator chooses")
    void chosenGroup(
            MckeyOptions options, Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        try (NodeRoles roles = new NodeRoles()) {
            Cast cast = new Cast(roles, stage, report, settings);
            Running<Sent> sender = cast.sender("sender", options);
            cast.round(0, List.of(sender), List.of());
            sender.tell("end");
            Sent sent = sender.join(settings.stepTimeout());
            assertFalse(sent.group().isZero(), "no group was chosen");
        } catch (ScenarioException | RemoteFailureException e) {
            if (device.portAttributes().linkLayer() == LinkLayer.INFINIBAND || Cause.of(e) != Cause.UNSUPPORTED) {
                throw e;
            }
            throw new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(e.getMessage()));
        }
    }

    /**
     * What the device or the kernel can't do is a reason to skip; a device of the fabric that leads nowhere is none. Nor is a failed
     * call that no role of this JVM explains: it may be a defect.
     */
    private static RuntimeException skipIfUnsupported(RuntimeException e) {
        return Cause.of(e) == Cause.UNSUPPORTED
                ? new TestAbortedException(SkipReason.UNSUPPORTED_BY_KERNEL.because(e.getMessage()))
                : e;
    }

    private static MckeyOptions group(String text, FabricDevice device) {
        InetAddress group = InetAddress.ofLiteral(text);
        requireFamily(group, device);
        return MckeyOptions.parse("-m", group);
    }

    private static void requireFamily(InetAddress group, FabricDevice device) {
        boolean ipv4 = group instanceof Inet4Address;
        if (Addresses.find(device, ipv4).isEmpty()) {
            throw new TestAbortedException(
                    SkipReason.PEER_ABSENT.because("the network interface of %s has no %s address"
                            .formatted(device.device().name(), ipv4 ? "IPv4" : "IPv6")));
        }
    }

    /** Tells the roles of a scenario what to do, in turn. */
    private record Cast(
            NodeRoles roles,
            Stage stage,
            RdmaReport report,
            ScenarioSettings settings,
            Map<String, List<Running<?>>> probes) {

        private Cast {
            DeviceNeeds.of(stage).capability(DeviceCapability.MULTICAST);
        }

        private Cast(NodeRoles roles, Stage stage, RdmaReport report, ScenarioSettings settings) {
            this(roles, stage, report, settings, new LinkedHashMap<>());
        }

        /**
         * Between two nodes, waits until the group delivers: until then the switches between them may lose its messages. Members
         * that stay until the end keep it so, whoever else joins and leaves.
         */
        private void probe(MckeyOptions options) {
            String group = options.groupText();
            boolean within = stage.server().name().equals(stage.client().name());
            if (within || options.messages() == 0 || probes.containsKey(group)) {
                return;
            }
            MckeyOptions one = timed(options).and("-c 1 -C 1 --senders 1 -o=false");
            report.step("wait until " + group + " delivers", () -> {
                Running<Boolean> receiver =
                        roles.start("probe receiver", stage.server(), new MulticastRoles.ProbeReceiver(one));
                String ignored = receiver.hear("joining the group", patience());
                Running<Long> sender = roles.start("probe sender", stage.client(), new MulticastRoles.ProbeSender(one));
                ignored = sender.hear("joining the group", patience());
                ignored = receiver.hear("the first message of the group", patience());
                sender.tell("heard");
                report.measurement(Measurement.count(
                        "probes until " + group + " delivered",
                        Long.parseLong(sender.hear("the end of the probes", patience())),
                        "messages",
                        Measurement.Better.NEITHER));
                probes.put(group, List.of(receiver, sender));
            });
        }

        private void endProbes() {
            probes.values().forEach(each -> {
                each.forEach(probe -> probe.tell("end"));
                each.forEach(probe -> probe.join(patience()));
            });
            probes.clear();
        }

        private MckeyOptions timed(MckeyOptions options) {
            return options.and("--settle 0 --timeout", settings.stepTimeout());
        }

        /** Longer than a role waits, which knows better what is missing. */
        private Duration patience() {
            return settings.stepTimeout().multipliedBy(2);
        }

        private Running<Received> receiver(String name, MckeyOptions options) {
            probe(options);
            return report.step(name + " joins " + options.groupText(), () -> {
                Running<Received> receiver =
                        roles.start(name, stage.server(), new MulticastRoles.Receiver(timed(options), true));
                String ignored = receiver.hear("joining the group", patience());
                return receiver;
            });
        }

        private Running<Sent> sender(String name, MckeyOptions options) {
            return report.step(name + " joins " + options.groupText(), () -> {
                Running<Sent> sender =
                        roles.start(name, stage.client(), new MulticastRoles.Sender(timed(options), true));
                String ignored = sender.hear("joining the group", patience());
                return sender;
            });
        }

        @SafeVarargs
        private void order(String order, Running<Received>... receivers) {
            for (Running<Received> receiver : receivers) {
                receiver.tell(order);
                String ignored = receiver.hear("doing this: " + order, patience());
            }
        }

        private void round(int number, List<Running<Sent>> senders, List<Running<Received>> receivers) {
            report.step(
                    "round %d: %d senders, %d receivers".formatted(number, senders.size(), receivers.size()), () -> {
                        receivers.forEach(receiver -> receiver.tell("round " + number));
                        senders.forEach(sender -> sender.tell("round " + number));
                        senders.forEach(sender -> sender.hear("sending the messages", patience()));
                        receivers.forEach(receiver -> receiver.hear("receiving the messages", patience()));
                    });
        }

        private List<Received> end(List<Running<Sent>> senders, List<Running<Received>> receivers) {
            receivers.forEach(receiver -> receiver.tell("end"));
            List<Received> results = receivers.stream()
                    .map(receiver -> receiver.join(patience()))
                    .toList();
            senders.forEach(sender -> sender.tell("end"));
            senders.forEach(sender -> sender.join(patience()));
            endProbes();
            results.forEach(result -> report.bytesVerified(result.bytesVerified()));
            report.measurement(Measurement.count(
                    "messages",
                    results.stream().mapToLong(Received::messages).sum(),
                    "messages",
                    Measurement.Better.HIGHER));
            report.measurement(Measurement.count(
                    "out of order",
                    results.stream().mapToLong(Received::reordered).sum(),
                    "messages",
                    Measurement.Better.LOWER));
            return results;
        }
    }
}
