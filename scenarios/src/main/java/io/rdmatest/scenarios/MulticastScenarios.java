package io.rdmatest.scenarios;

import io.rdmatest.RdmaException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.JoinFlag;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.role.Addresses;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.MulticastRoles;
import io.rdmatest.scenarios.role.MulticastRoles.Received;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Multicast with delivery, the ground of mckey(1): who has joined receives, who has not does not. */
@RdmaTest
@ExtendWith(ScenarioSettingsExtension.class)
@DisplayName("Multicast")
public class MulticastScenarios {

    private static final int MESSAGES = 10;

    @ParameterizedTest(name = "{0}, {1} bytes, two receivers")
    @CsvSource({"239.77.0.1, 1", "239.77.0.1, 100", "239.77.0.1, 1000", "ff0e::77:1, 100", "ff0e::77:1, 1000"})
    void delivery(String groupText, int size, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        InetAddress group = group(groupText, device);
        report.parameter("group", groupText);
        report.parameter("size", size);
        report.parameter("messages", MESSAGES);
        try (LocalRoles roles = new LocalRoles()) {
            Cast cast = new Cast(roles, device, report, settings);
            Running<Received> first = cast.receiver("receiver 1", group, size);
            Running<Received> second = cast.receiver("receiver 2", group, size);
            Running<Integer> sender = cast.sender(group, size, JoinFlag.FULL_MEMBER);
            int number = cast.joinedSender(sender);
            cast.deliver(sender, number, 0, List.of(first, second));
            cast.end(sender, List.of(first, second));
        } catch (RdmaException e) {
            throw skipIfUnsupported("join of " + groupText, e);
        }
    }

    @Test
    @DisplayName("nothing after leaving")
    void leave(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        InetAddress group = group("239.77.0.2", device);
        try (LocalRoles roles = new LocalRoles()) {
            Cast cast = new Cast(roles, device, report, settings);
            Running<Received> stays = cast.receiver("receiver 1", group, 100);
            Running<Received> leaves = cast.receiver("receiver 2", group, 100);
            Running<Integer> sender = cast.sender(group, 100, JoinFlag.FULL_MEMBER);
            int number = cast.joinedSender(sender);
            cast.deliver(sender, number, 0, List.of(stays, leaves));
            leaves.tell("leave");
            leaves.hear("leaving the group", settings.stepTimeout());
            // What the one that stays has received, the other would have received too: no need to wait for silence.
            cast.deliver(sender, number, MESSAGES, List.of(stays));
            cast.end(sender, List.of(stays, leaves));
        }
    }

    @Test
    @DisplayName("two groups do not mix")
    void twoGroups(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        InetAddress one = group("239.77.0.3", device);
        InetAddress other = group("239.77.0.4", device);
        try (LocalRoles roles = new LocalRoles()) {
            Cast cast = new Cast(roles, device, report, settings);
            Running<Received> first = cast.receiver("receiver of group 1", one, 100);
            Running<Received> second = cast.receiver("receiver of group 2", other, 100);
            Running<Integer> toFirst = cast.sender(one, 100, JoinFlag.FULL_MEMBER);
            int firstNumber = cast.joinedSender(toFirst);
            Running<Integer> toSecond = cast.sender(other, 100, JoinFlag.FULL_MEMBER);
            int secondNumber = cast.joinedSender(toSecond);
            cast.deliver(toFirst, firstNumber, 0, List.of(first));
            cast.deliver(toSecond, secondNumber, 1000, List.of(second));
            cast.deliver(toFirst, firstNumber, 2000, List.of(first));
            toFirst.tell("end");
            cast.end(toSecond, List.of(first, second));
            toFirst.join(settings.stepTimeout());
        }
    }

    @Test
    @DisplayName("send-only join")
    void sendOnly(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        InetAddress group = group("239.77.0.5", device);
        try (LocalRoles roles = new LocalRoles()) {
            Cast cast = new Cast(roles, device, report, settings);
            Running<Received> first = cast.receiver("receiver 1", group, 100);
            Running<Integer> sender = cast.sender(group, 100, JoinFlag.SEND_ONLY_FULL_MEMBER);
            int number = cast.joinedSender(sender);
            cast.deliver(sender, number, 0, List.of(first));
            cast.end(sender, List.of(first));
        } catch (UnexpectedCmEventException e) {
            if (e.got().equals("RDMA_CM_EVENT_MULTICAST_ERROR")) {
                throw SkipReason.UNSUPPORTED_BY_DEVICE.skip("send-only join: " + e.getMessage());
            }
            throw e;
        } catch (RdmaException e) {
            throw skipIfUnsupported("send-only join", e);
        }
    }

    /** Kernels refuse what they do not implement in the call itself: IPv6 groups on RoCE v2, or send-only joins. */
    private static RdmaException skipIfUnsupported(String what, RdmaException e) {
        return switch (e.errnoName()) {
            case "EOPNOTSUPP", "ENOTSUPP", "ENOSYS" ->
                throw SkipReason.UNSUPPORTED_BY_KERNEL.skip(what + ": " + e.getMessage());
            default -> e;
        };
    }

    private static InetAddress group(String text, FabricDevice device) {
        InetAddress group;
        try {
            group = InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(text, e);
        }
        boolean ipv4 = group instanceof Inet4Address;
        if (Addresses.find(device, ipv4).isEmpty()) {
            throw SkipReason.PEER_ABSENT.skip("the network interface of %s has no %s address"
                    .formatted(device.device().name(), ipv4 ? "IPv4" : "IPv6"));
        }
        return group;
    }

    /** Tells the roles of a scenario what to do, in turn. */
    private record Cast(LocalRoles roles, FabricDevice device, RdmaReport report, ScenarioSettings settings) {

        private Running<Received> receiver(String name, InetAddress group, int size) {
            return report.step(name + " joins " + group.getHostAddress(), () -> {
                Running<Received> receiver = roles.start(
                        name, device, new MulticastRoles.Receiver(group, 4 * MESSAGES, size, settings.stepTimeout()));
                receiver.hear("joining the group", settings.stepTimeout());
                return receiver;
            });
        }

        private Running<Integer> sender(InetAddress group, int size, JoinFlag flag) {
            return roles.start(
                    "sender to " + group.getHostAddress(),
                    device,
                    new MulticastRoles.Sender(group, size, flag, settings.stepTimeout()));
        }

        private int joinedSender(Running<Integer> sender) {
            return Integer.parseInt(
                    sender.hear("joining the group", settings.stepTimeout()).split(" ", -1)[1]);
        }

        private void deliver(Running<Integer> sender, int number, int first, List<Running<Received>> receivers) {
            report.step("deliver %d messages to %d receivers".formatted(MESSAGES, receivers.size()), () -> {
                for (Running<Received> receiver : receivers) {
                    receiver.tell("expect %d %d %d".formatted(number, first, MESSAGES));
                }
                sender.tell("send %d %d".formatted(first, MESSAGES));
                sender.hear("sending the messages", settings.stepTimeout());
                for (Running<Received> receiver : receivers) {
                    receiver.hear("receiving the messages", settings.stepTimeout());
                }
            });
        }

        private void end(Running<Integer> sender, List<Running<Received>> receivers) {
            for (Running<Received> receiver : receivers) {
                receiver.tell("end");
                report.bytesVerified(receiver.join(settings.stepTimeout()).bytesVerified());
            }
            sender.tell("end");
            sender.join(settings.stepTimeout());
        }
    }
}
