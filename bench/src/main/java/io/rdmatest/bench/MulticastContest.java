package io.rdmatest.bench;

import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import java.io.IOException;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Multicast datagrams per second, delivered. Of mckey(1) the time is from the line with which its sender begins to the line with
 * which its receiver is done.
 *
 * <p>Only the messages that the program's receiver waits for count, see {@link MckeyPair}. Ours sends what it receives, and
 * compares it.
 */
final class MulticastContest implements Contest {

    private static final String GROUP = "239.77.5.1";
    private static final int SIZE = 1000;

    private final BenchContext context;
    private final int messages;
    private String command = "";

    MulticastContest(BenchContext context, int messages) {
        this.context = context;
        this.messages = messages;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        MckeyPair pair = new MckeyPair(context, GROUP, messages, "-S", SIZE);
        MckeyPair.Delivery delivery = pair.deliver();
        command = pair.command();
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("messagesReceived", messages);
        details.put("nanos", delivery.nanos());
        details.put("lostRuns", delivery.lostRuns());
        return new Sample(messages * 1e9 / delivery.nanos(), details);
    }

    @Override
    public Sample ours() {
        MckeyOptions options = MckeyOptions.parse(
                "-m",
                InetAddress.ofLiteral(GROUP),
                "-b",
                context.device().address(),
                "-C",
                messages,
                "-S",
                SIZE,
                "--settle 0 --timeout",
                context.step());
        try (LocalRoles roles = new LocalRoles()) {
            Running<MulticastRoles.Received> receiver =
                    roles.start("receiver", context.device(), new MulticastRoles.Receiver(options, true));
            String ignored = receiver.hear("joining the group", context.step());
            Running<MulticastRoles.Sent> sender =
                    roles.start("sender", context.device(), new MulticastRoles.Sender(options, true));
            ignored = sender.hear("joining the group", context.step());
            receiver.tell("round 0");
            long start = System.nanoTime();
            sender.tell("round 0");
            ignored = receiver.hear("the messages", context.step());
            long nanos = System.nanoTime() - start;
            ignored = sender.hear("the end of the messages", context.step());
            sender.tell("end");
            receiver.tell("end");
            MulticastRoles.Sent sent = sender.join(context.step());
            MulticastRoles.Received received = receiver.join(context.step());
            Map<String, Object> details = new LinkedHashMap<>();
            details.put("messagesSent", sent.messages());
            details.put("messagesReceived", received.messages());
            details.put("bytesVerified", received.bytesVerified());
            details.put("nanos", nanos);
            return new Sample(received.messages() * 1e9 / nanos, details);
        }
    }

    @Override
    public int repetitions() {
        return messages;
    }

    @Override
    public Map<String, Object> parameters() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("command", command);
        all.put("sizeBytes", SIZE);
        all.put("messagesReceived", messages);
        all.put("theirMessagesSent", MckeyPair.sent(messages));
        all.put("ourMessagesVerified", true);
        return all;
    }
}
