package io.rdmatest.peer;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** What goes over the channel, one a line. The names are fixed here: no input chooses a class. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
@JsonSubTypes({
    @JsonSubTypes.Type(value = PeerMessage.Hello.class, name = "hello"),
    @JsonSubTypes.Type(value = PeerMessage.Start.class, name = "start"),
    @JsonSubTypes.Type(value = PeerMessage.Tell.class, name = "tell"),
    @JsonSubTypes.Type(value = PeerMessage.Cancel.class, name = "cancel"),
    @JsonSubTypes.Type(value = PeerMessage.Line.class, name = "line"),
    @JsonSubTypes.Type(value = PeerMessage.Heartbeat.class, name = "heartbeat"),
    @JsonSubTypes.Type(value = PeerMessage.Result.class, name = "result"),
    @JsonSubTypes.Type(value = PeerMessage.Diagnosis.class, name = "diagnosis"),
    @JsonSubTypes.Type(value = PeerMessage.Failure.class, name = "failure"),
    @JsonSubTypes.Type(value = PeerMessage.Bye.class, name = "bye"),
})
sealed interface PeerMessage {

    /**
     * The first message in each direction, the agent's before the parent's.
     *
     * @param version of the messages; both sides have the same
     * @param pid the process
     * @param host the host's name
     * @param heartbeatMillis how often this side says something
     * @param patienceMillis how long this side takes silence for life
     */
    record Hello(int version, long pid, String host, long heartbeatMillis, long patienceMillis)
            implements PeerMessage {}

    /**
     * Starts a role.
     *
     * @param role a number that names it from now on
     * @param name for threads and messages
     * @param kind its registered type
     * @param parameters its record
     * @param place where on the node it runs: the device
     */
    record Start(long role, String name, String kind, JsonNode parameters, JsonNode place) implements PeerMessage {}

    /** A text from or to a role. */
    record Tell(long role, String text) implements PeerMessage {}

    /** Asks a role to end. */
    record Cancel(long role) implements PeerMessage {}

    /** What a role prints, or traces. */
    record Line(long role, LineKind kind, String text) implements PeerMessage {}

    /** Nothing but a sign of life. */
    record Heartbeat() implements PeerMessage {}

    /** The end of a role that did its work. */
    record Result(long role, JsonNode value) implements PeerMessage {}

    /** What the node looks like after a failure; comes before it. */
    record Diagnosis(long role, String text) implements PeerMessage {}

    /** The end of a role that failed. */
    record Failure(long role, PeerFailure failure) implements PeerMessage {}

    /** Nothing more comes from this side. */
    record Bye(@Nullable String reason) implements PeerMessage {}
}
