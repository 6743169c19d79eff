package io.rdmatest.peer;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** The messages of the channel, one a line. The type names are fixed here: input cannot choose a class. */
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
     * @param version the protocol version; both sides must have the same
     * @param pid the process id
     * @param host the host's name
     * @param heartbeatMillis the longest time between two messages of this side
     * @param patienceMillis the silence after which this side counts the other as lost
     */
    record Hello(int version, long pid, String host, long heartbeatMillis, long patienceMillis)
            implements PeerMessage {}

    /**
     * Starts a role.
     *
     * @param role the number that identifies it in later messages
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

    /** A line that a role prints or traces. */
    record Line(long role, LineKind kind, String text) implements PeerMessage {}

    /** Nothing but a sign of life. */
    record Heartbeat() implements PeerMessage {}

    /** The end of a role that did its work. */
    record Result(long role, JsonNode value) implements PeerMessage {}

    /** The node's state after a failure; sent before the failure. */
    record Diagnosis(long role, String text) implements PeerMessage {}

    /** The end of a role that failed. */
    record Failure(long role, PeerFailure failure) implements PeerMessage {}

    /** The last message of this side. */
    record Bye(@Nullable String reason) implements PeerMessage {}
}
