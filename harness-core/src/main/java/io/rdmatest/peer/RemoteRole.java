package io.rdmatest.peer;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A role that runs on a node. What it says comes in order, and a {@link Done}, a {@link Failed} or a loss is the last. */
public final class RemoteRole {

    /** What comes from a role. */
    public sealed interface Event {}

    /**
     * A message for the other side of the scenario.
     *
     * @param text one line
     */
    public record Told(String text) implements Event {}

    /**
     * A line for people.
     *
     * @param kind what it is
     * @param text one line
     */
    public record Said(LineKind kind, String text) implements Event {}

    /**
     * The end of a role that did its work.
     *
     * @param result its results
     */
    public record Done(JsonNode result) implements Event {}

    /**
     * The end of a role that failed, or whose node was lost.
     *
     * @param failure of the type that it had on the node, with its {@link RemoteOrigin} suppressed; or a
     *     {@link PeerLostException}
     */
    public record Failed(Throwable failure) implements Event {}

    private final Peer peer;
    private final long number;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private volatile String diagnosis = "";

    RemoteRole(Peer peer, long number) {
        this.peer = peer;
        this.number = number;
    }

    /**
     * Sends it a message. Never waits.
     *
     * @param text one line
     */
    public void tell(String text) {
        peer.send(new PeerMessage.Tell(number, text));
    }

    /** Asks it to end. Never waits; its end still comes as an event. */
    public void cancel() {
        peer.send(new PeerMessage.Cancel(number));
    }

    /**
     * Waits for what it says next.
     *
     * @param most how long at most
     * @return what came; null if nothing did
     * @throws InterruptedException if the thread is interrupted
     */
    public @Nullable Event next(Duration most) throws InterruptedException {
        return events.poll(most.toNanos(), TimeUnit.NANOSECONDS);
    }

    void add(Event event) {
        events.add(event);
    }

    void diagnosed(String text) {
        diagnosis = text;
    }

    String diagnosis() {
        return diagnosis;
    }
}
