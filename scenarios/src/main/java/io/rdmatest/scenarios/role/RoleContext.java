package io.rdmatest.scenarios.role;

import io.rdmatest.fabric.FabricDevice;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * The environment of a role: the device of its node, and short text messages to and from its starter.
 *
 * <p>The messages are the out-of-band channel of a scenario, for example for a listener's port or a queue pair number.
 * They never carry the data under test. Messages of one direction keep their order.
 */
public interface RoleContext {

    /** Returns the device, port and GID of this role. */
    FabricDevice device();

    /**
     * Returns the IP address at which rdma_cm reaches the other side, for clients without an address option. If both
     * sides are on one node it is the address of this role's own device.
     */
    default InetAddress peerAddress() {
        return device().address();
    }

    /**
     * Returns whether connections must be on {@link #device()}. For a command without a device option the routes
     * decide, as for the C programs.
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
     * @param timeout the longest wait
     * @return the message
     * @throws io.rdmatest.RdmaTimeoutException if none arrives in time
     * @throws RoleCancelledException if the scenario is cancelled meanwhile
     */
    String hear(String what, Duration timeout);

    /**
     * Traces events and state changes of the connection, as the programs do with {@code -d}. Never called on the data
     * path. Dropped without a listener.
     *
     * @param what makes one line of text, if there is a listener
     */
    default void trace(Supplier<String> what) {}

    /**
     * Returns whether the scenario was cancelled, usually because the other side failed. The role must then end at
     * once.
     */
    boolean isCancelled();

    /**
     * Ends this role if the scenario was cancelled.
     *
     * @throws RoleCancelledException if {@link #isCancelled()}
     */
    default void checkCancelled() {
        if (isCancelled()) {
            throw new RoleCancelledException();
        }
    }
}
