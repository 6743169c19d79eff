package io.rdmatest.peer;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A role that runs on a node. Its events arrive in order; the last one is a {@link Done} or a {@link Failed}. */
public final class RemoteRole {

    /** An event of a role. */
    public sealed interface Event {}

    /**
     * A message to the other role of the scenario.
     *
     * @param text one line
     */
    public record Told(String text) implements Event {}

    /**
     * A line for people.
     *
     * @param kind the kind of line
     * @param text one line
     */
    public record Said(LineKind kind, String text) implements Event {}

    /**
     * The end of a role that succeeded.
     *
     * @param result its results
     */
    public record Done(JsonNode result) implements Event {}

    /**
     * The end of a role that failed, or whose node was lost.
     *
     * @param failure a {@link RemoteFailureException} or a {@link PeerLostException}
     */
    public record Failed(RuntimeException failure) implements Event {}

    private final Peer peer;
    private final long number;
    private final BlockingQueue<Optional<Event>> events = new LinkedBlockingQueue<>();
    private volatile String diagnosis = "";

    RemoteRole(Peer peer, long number) {
        this.peer = peer;
        this.number = number;
    }

    /**
     * Sends a message to the role. Never waits.
     *
     * @param text one line
     */
    public void tell(String text) {
        peer.send(new PeerMessage.Tell(number, text));
    }

    /** Asks the role to end. Never waits; the end still arrives as an event. */
    public void cancel() {
        peer.send(new PeerMessage.Cancel(number));
    }

    /**
     * Waits for the role's next event, or for {@link #wake}.
     *
     * @param most the longest wait
     * @return the event; null if none arrived
     * @throws InterruptedException if the thread is interrupted
     */
    public @Nullable Event next(Duration most) throws InterruptedException {
        Optional<Event> event = events.poll(most.toNanos(), TimeUnit.NANOSECONDS);
        return event == null ? null : event.orElse(null);
    }

    /** Ends one wait for an event early: the current one, or the next one. Never waits. */
    public void wake() {
        events.add(Optional.empty());
    }

    void add(Event event) {
        events.add(Optional.of(event));
    }

    void diagnosed(String text) {
        diagnosis = text;
    }

    String diagnosis() {
        return diagnosis;
    }
}
