package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import java.io.IOException;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Multicast datagrams per second, delivered. Of mckey(1) the time is from the line with which its sender begins to the line with
 * which its receiver is done.
 *
 * <p>The program's sender destroys its queue pair on the heels of its last message, and its receiver waits for ever for what is
 * lost through that. So the sender sends twice as many as its receiver waits for, and only these count. A run that loses more than
 * half of them is repeated: it has no time that could be compared. Ours sends what it receives, and compares it.
 */
final class MulticastContest implements Contest {

    private static final String GROUP = "239.77.5.1";
    private static final int SIZE = 1000;
    private static final String DONE = "data transfers complete";

    /** How often the program is run at most. */
    static final int RUNS = 5;

    /** For what is on its way still when the sender is gone. */
    private static final long AFTER_SENDER_SECONDS = 5;

    /** Runs both sides of the program once. */
    interface Run {

        /**
         * Runs both sides.
         *
         * @return how long the messages took in nanoseconds; empty if the receiver waits for some that are lost
         * @throws NotMeasuredException if a side failed
         */
        OptionalLong nanos() throws IOException, InterruptedException;
    }

    /**
     * A delivery of all messages that the program's receiver waits for.
     *
     * @param nanos from the line with which the sender begins to the line with which the receiver is done, in nanoseconds
     * @param lostRuns how many runs came to no end before that
     */
    record Delivery(long nanos, int lostRuns) {}

    private final Context context;
    private final int messages;
    private String command = "";

    MulticastContest(Context context, int messages) {
        this.context = context;
        this.messages = messages;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        Delivery delivery = repeated(this::runTheirs);
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("messagesReceived", messages);
        details.put("nanos", delivery.nanos());
        details.put("lostRuns", delivery.lostRuns());
        return new Sample(messages * 1e9 / delivery.nanos(), details);
    }

    /** Repeats runs until one delivers all that its receiver waits for. */
    static Delivery repeated(Run run) throws IOException, InterruptedException {
        for (int lost = 0; lost < RUNS; lost++) {
            OptionalLong nanos = run.nanos();
            if (nanos.isPresent()) {
                return new Delivery(nanos.getAsLong(), lost);
            }
        }
        throw new NotMeasuredException(
                "mckey's sender lost more than half of its messages in each of %d runs: it ends without waiting for them"
                        .formatted(RUNS));
    }

    private OptionalLong runTheirs() throws IOException, InterruptedException {
        List<Object> sending = List.of("-m", GROUP, "-b", context.address(), "-S", SIZE, "-C", messagesSent(), "-s");
        command = ProgramRun.command("mckey", sending.toArray());
        try (CProgram receiver = CProgram.start(
                context.step(), "mckey", "-m", GROUP, "-b", context.address(), "-S", SIZE, "-C", messages)) {
            receiver.awaitOutput("joined dgid:");
            try (CProgram sender = CProgram.start(context.step(), "mckey", sending.toArray())) {
                sender.awaitSuccess();
                boolean ended = receiver.process()
                        .onExit()
                        .thenApply(receiving -> true)
                        .completeOnTimeout(false, AFTER_SENDER_SECONDS, TimeUnit.SECONDS)
                        .join();
                if (!ended && !receiver.output().contains(DONE)) {
                    return OptionalLong.empty();
                }
                receiver.awaitSuccess();
                return OptionalLong.of(receiver.printedAt(DONE) - sender.printedAt("initiating data transfers"));
            }
        } catch (AssertionError e) {
            throw new NotMeasuredException(String.valueOf(e.getMessage()), e);
        }
    }

    private int messagesSent() {
        return 2 * messages;
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
        all.put("theirMessagesSent", messagesSent());
        all.put("ourMessagesVerified", true);
        return all;
    }
}
