package io.rdmatest.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Both sides of mckey(1), until a number of messages is delivered.
 *
 * <p>The program's sender destroys its queue pair on the heels of its last message, and its receiver waits for ever for what is
 * lost through that. So the sender sends twice as many as its receiver waits for, and a run that loses more than half of them is
 * repeated: it has no time that could be compared.
 */
final class MckeyPair {

    /** How often it is run at most. */
    static final int RUNS = 5;

    /** For what is on its way still when the sender is gone. */
    private static final Duration AFTER_SENDER = Duration.ofSeconds(5);

    /** Runs both sides once. */
    interface Run {

        /**
         * Runs both sides.
         *
         * @return how long the messages took in nanoseconds; null if the receiver waits for some that are lost
         * @throws NotMeasuredException if a side failed
         */
        @Nullable
        Long nanos() throws IOException, InterruptedException;
    }

    /**
     * What came of it.
     *
     * @param nanos from the line with which the sender begins to the line with which the receiver is done, in nanoseconds
     * @param lostRuns how many runs came to no end before that
     */
    record Delivery(long nanos, int lostRuns) {}

    private final BenchContext context;
    private final int count;
    private final List<Object> options;
    private String command = "";

    /**
     * @param group the group's address
     * @param count how many messages the receiver waits for
     * @param more further options of both sides
     */
    MckeyPair(BenchContext context, String group, int count, Object... more) {
        this.context = context;
        this.count = count;
        this.options = new ArrayList<>(List.of("-m", group, "-b", context.address()));
        this.options.addAll(List.of(more));
    }

    /** Returns how many messages the sender sends, so that the receiver gets a number of them. */
    static int sent(int received) {
        return 2 * received;
    }

    /** Returns the command line of the sender; empty before it was run. */
    String command() {
        return command;
    }

    /** Runs both sides until all that the receiver waits for was delivered. */
    Delivery deliver() throws IOException, InterruptedException {
        return repeated(this::run);
    }

    static Delivery repeated(Run run) throws IOException, InterruptedException {
        for (int lost = 0; lost < RUNS; lost++) {
            Long nanos = run.nanos();
            if (nanos != null) {
                return new Delivery(nanos, lost);
            }
        }
        throw new NotMeasuredException(
                "mckey's sender lost more than half of its messages in each of %d runs: it ends without waiting for them"
                        .formatted(RUNS));
    }

    private @Nullable Long run() throws IOException, InterruptedException {
        try (TimedProgram receiver = start(count)) {
            TimedProgram.Line joined = receiver.awaitLine("joined dgid:");
            try (TimedProgram sender = start(sent(count), "-s")) {
                command = sender.command();
                long ignored = sender.awaitSuccess();
                TimedProgram.Line done = receiver.awaitLine("data transfers complete", AFTER_SENDER);
                if (done == null) {
                    return null;
                }
                ignored = receiver.awaitSuccess();
                return done.nanos()
                        - sender.awaitLine("initiating data transfers").nanos();
            }
        }
    }

    private TimedProgram start(int messages, Object... more) throws IOException {
        List<Object> arguments = new ArrayList<>(options);
        arguments.addAll(List.of("-C", messages));
        arguments.addAll(List.of(more));
        return TimedProgram.start(context.step(), true, "mckey", arguments.toArray());
    }
}
