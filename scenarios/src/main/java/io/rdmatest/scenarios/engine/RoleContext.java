package io.rdmatest.scenarios.engine;

import io.rdmatest.fabric.FabricDevice;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * What a role is given: the device of its node, and short text messages to and from whoever started it.
 *
 * <p>The messages are the out-of-band channel of a scenario: the port that a listener got, the queue pair number of a
 * raw connection, "joined". They never carry the data under test. Messages of one direction keep their order.
 */
public interface RoleContext {

    /** The device, port and GID that this role is to use. */
    FabricDevice device();

    /**
     * Returns the IP address at which rdma_cm reaches the other side, for a client that was not told another one. It is that
     * of this role's own device where both sides are on one node.
     */
    default InetAddress peerAddress() {
        return device().address();
    }

    /**
     * Tells whether connections must be on {@link #device()}. A command that was given no device leaves it to the routes, as the
     * C programs do.
     */
    default boolean staysOnDevice() {
        return true;
    }

    /**
     * Sends a message to the other side. Never blocks.
     *
     * @param message one line of text
     */
    void tell(String message);

    /**
     * Waits for the next message of the other side.
     *
     * @param what what the message is about, for the text of a timeout
     * @param timeout how long to wait
     * @return the message
     * @throws io.rdmatest.RdmaTimeoutException if none came in time
     * @throws RoleCancelledException if the scenario was given up meanwhile
     */
    String hear(String what, Duration timeout);

    /**
     * Tells what happens on the connection, as the programs do with {@code -d}: events and changes of state, never on
     * the data path. Dropped unless somebody listens.
     *
     * @param what makes one line of text, if somebody listens
     */
    default void trace(Supplier<String> what) {}

    /** Whether the scenario was given up, usually because the other side failed; a role then ends at once. */
    boolean isCancelled();

    /**
     * Ends this role if the scenario was given up.
     *
     * @throws RoleCancelledException if {@link #isCancelled()}
     */
    default void checkCancelled() {
        if (isCancelled()) {
            throw new RoleCancelledException();
        }
    }
}
