package io.rdmatest.junit;

import io.rdmatest.NativeResource;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.verbs.QueuePair;
import java.util.List;

/** Tells what there is to know about a test's native objects while they still exist. */
final class Diagnosis {

    private Diagnosis() {}

    /** Describes the objects, one a line, with their states; empty if there are none. */
    static String of(List<NativeResource> live) {
        if (live.isEmpty()) {
            return "";
        }
        StringBuilder text = new StringBuilder("native objects of the test:");
        for (NativeResource resource : live) {
            text.append(System.lineSeparator()).append("  ").append(resource.describe());
            String state = state(resource);
            if (!state.isEmpty()) {
                text.append(": ").append(state);
            }
        }
        return text.toString();
    }

    private static String state(NativeResource resource) {
        try {
            return switch (resource) {
                case QueuePair queuePair -> "state " + queuePair.state();
                case EventChannel channel ->
                    channel.recentEvents().isEmpty()
                            ? "no event came"
                            : "last events: " + String.join("; ", channel.recentEvents());
                default -> "";
            };
        } catch (RuntimeException e) {
            // It may be closed meanwhile, or be what is broken; the others are still worth telling.
            return "not to be asked: " + e.getMessage();
        }
    }

    /** Moves queue pairs to the error state, so that whoever polls for their completions gets them, flushed. */
    static void flush(List<NativeResource> live) {
        for (NativeResource resource : live) {
            if (resource instanceof QueuePair queuePair && !queuePair.isClosed()) {
                try {
                    queuePair.toError();
                } catch (RuntimeException e) {
                    System.err.println(queuePair.describe() + " can't be moved to the error state: " + e.getMessage());
                }
            }
        }
    }
}
