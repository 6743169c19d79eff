package io.rdmatest.junit;

import io.rdmatest.ConnectionMode;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.ProtectionDomain;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What a {@link Connection} is like. Immutable; begin with {@link #defaults()} and change what matters. */
public final class ConnectionOptions {

    /** The device's own ACK timeout: that of the route for rdma_cm, 67 ms for {@link ConnectionMode#RAW}. */
    static final int USUAL_ACK_TIMEOUT = -1;

    private static final ConnectionOptions DEFAULTS = new ConnectionOptions();

    // Changed on a copy only, before anybody else sees it.
    private ConnectionMode mode = ConnectionMode.RDMA_CM;
    private @Nullable ProtectionDomain protectionDomain;
    private Mtu mtu = Mtu.UNKNOWN;
    private int maxSendWr = 64;
    private int maxReceiveWr = 64;
    private int maxSge = 1;
    private int maxInline;
    private boolean events;
    private int retryCount = 7;
    private int rnrRetryCount = 7;
    private int ackTimeout = USUAL_ACK_TIMEOUT;
    private Duration timeout = Duration.ofSeconds(10);

    private ConnectionOptions() {}

    private ConnectionOptions with(Consumer<ConnectionOptions> change) {
        ConnectionOptions copy = new ConnectionOptions();
        copy.mode = mode;
        copy.protectionDomain = protectionDomain;
        copy.mtu = mtu;
        copy.maxSendWr = maxSendWr;
        copy.maxReceiveWr = maxReceiveWr;
        copy.maxSge = maxSge;
        copy.maxInline = maxInline;
        copy.events = events;
        copy.retryCount = retryCount;
        copy.rnrRetryCount = rnrRetryCount;
        copy.ackTimeout = ackTimeout;
        copy.timeout = timeout;
        change.accept(copy);
        return copy;
    }

    /**
     * Begin with a connection by rdma_cm, a protection domain of its own, the MTU of the path, 64 work requests of one
     * segment either way, no inline data, no completion events, retry counts of 7, and 10 s for the set-up.
     *
     * @return the options; never null
     */
    public static ConnectionOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Choose how the connection is brought up.
     *
     * @param value the mode; never null
     * @return changed options; never null
     */
    public ConnectionOptions mode(ConnectionMode value) {
        return with(copy -> copy.mode = value);
    }

    /**
     * Build both sides on a protection domain that the caller owns. For the modes with rdma_cm it has to be of rdma_cm's own
     * device context; an injected one is.
     *
     * @param value the protection domain; null for one that the connection owns
     * @return changed options; never null
     */
    public ConnectionOptions protectionDomain(@Nullable ProtectionDomain value) {
        return with(copy -> copy.protectionDomain = value);
    }

    /**
     * Choose the path MTU, in the modes in which the queue pairs are the test's own: with {@link ConnectionMode#RDMA_CM} the
     * library takes that of the route, and no other can be set.
     *
     * @param value at most the port's active MTU; {@link Mtu#UNKNOWN} for the path's
     * @return changed options; never null
     */
    public ConnectionOptions mtu(Mtu value) {
        return with(copy -> copy.mtu = value);
    }

    /**
     * Size the queues of both sides; the completion queues are sized to hold a completion for each work request.
     *
     * @param sends the most outstanding sends, at least 1
     * @param receives the most outstanding receives, at least 1
     * @return changed options; never null
     * @throws IllegalArgumentException out of these ranges
     */
    public ConnectionOptions depth(int sends, int receives) {
        OutOfRange.check("maxSendWr", sends, 1, Integer.MAX_VALUE);
        OutOfRange.check("maxReceiveWr", receives, 1, Integer.MAX_VALUE);
        return with(copy -> {
            copy.maxSendWr = sends;
            copy.maxReceiveWr = receives;
        });
    }

    /**
     * Bound the segments of a work request.
     *
     * @param value at least 1
     * @return changed options; never null
     * @throws IllegalArgumentException out of this range
     */
    public ConnectionOptions maxSge(int value) {
        OutOfRange.check("maxSge", value, 1, Integer.MAX_VALUE);
        return with(copy -> copy.maxSge = value);
    }

    /**
     * Bound the data that can be sent inline.
     *
     * @param bytes at least 0
     * @return changed options; never null
     * @throws IllegalArgumentException out of this range
     */
    public ConnectionOptions maxInline(int bytes) {
        OutOfRange.check("maxInline", bytes, 0, Integer.MAX_VALUE);
        return with(copy -> copy.maxInline = bytes);
    }

    /**
     * Give each side a completion channel, so that completions can be awaited as events.
     *
     * @param value whether to
     * @return changed options; never null
     */
    public ConnectionOptions events(boolean value) {
        return with(copy -> copy.events = value);
    }

    /**
     * Choose how often the transport tries again.
     *
     * @param retries after a lost packet, 0 to 7
     * @param rnrRetries after "receiver not ready", 0 to 7, where 7 is without end
     * @return changed options; never null
     * @throws IllegalArgumentException out of these ranges
     */
    public ConnectionOptions retries(int retries, int rnrRetries) {
        OutOfRange.check("retryCount", retries, 0, 7);
        OutOfRange.check("rnrRetryCount", rnrRetries, 0, 7);
        return with(copy -> {
            copy.retryCount = retries;
            copy.rnrRetryCount = rnrRetries;
        });
    }

    /**
     * Choose how long the transport waits for an acknowledgement before it sends again (IBTA volume 1, section 9.7.6.1.3).
     *
     * @param exponent 0 to 31: 4.096 µs · 2^exponent, where 0 is without end
     * @return changed options; never null
     * @throws IllegalArgumentException out of this range
     */
    public ConnectionOptions ackTimeout(int exponent) {
        OutOfRange.check("ackTimeout", exponent, 0, 31);
        return with(copy -> copy.ackTimeout = exponent);
    }

    /**
     * Bound each wait of the set-up.
     *
     * @param value how long each event may take; never null
     * @return changed options; never null
     */
    public ConnectionOptions timeout(Duration value) {
        return with(copy -> copy.timeout = value);
    }

    /**
     * Check the options against each other.
     *
     * @throws IllegalArgumentException if two of them contradict each other
     */
    public void check() {
        if (mtu != Mtu.UNKNOWN && mode == ConnectionMode.RDMA_CM) {
            throw new OutOfRange(
                    "mtu",
                    "is " + mtu
                            + ", and can be chosen in the modes EXTERNAL_QP and RAW: in the mode RDMA_CM the"
                            + " library takes that of the route");
        }
    }

    /**
     * Check the options against the limits of a device.
     *
     * @param limits the limits of the device
     * @param port the attributes of its port, for the MTU
     * @param device its name, for messages
     * @throws IllegalArgumentException if an option exceeds a limit
     */
    public void check(DeviceAttributes limits, PortAttributes port, String device) {
        OutOfRange.checkLimit("maxSendWr", maxSendWr, limits.maxQpWr(), "max_qp_wr of " + device);
        OutOfRange.checkLimit("maxReceiveWr", maxReceiveWr, limits.maxQpWr(), "max_qp_wr of " + device);
        OutOfRange.checkLimit("maxSge", maxSge, limits.maxSge(), "max_sge of " + device);
        if (mtu.bytes() > port.activeMtu().bytes()) {
            throw new OutOfRange(
                    "mtu", "is " + mtu + ", and must be at most " + port.activeMtu() + ", the active MTU of " + device);
        }
    }

    /**
     * Get the way in which the connection is brought up.
     *
     * @return the mode; never null
     */
    public ConnectionMode mode() {
        return mode;
    }

    /**
     * Get the protection domain of both sides.
     *
     * @return the domain; empty for that of the scope
     */
    public Optional<ProtectionDomain> protectionDomain() {
        return Optional.ofNullable(protectionDomain);
    }

    Mtu mtu() {
        return mtu;
    }

    /**
     * Get how many sends can be outstanding on each side.
     *
     * @return work requests, at least 1
     */
    public int maxSendWr() {
        return maxSendWr;
    }

    /**
     * Get how many receives can be outstanding on each side.
     *
     * @return work requests, at least 1
     */
    public int maxReceiveWr() {
        return maxReceiveWr;
    }

    /**
     * Get how many segments a work request can have.
     *
     * @return segments, at least 1
     */
    public int maxSge() {
        return maxSge;
    }

    /**
     * Get how much data a send can carry in its work request.
     *
     * @return bytes; 0 for none
     */
    public int maxInline() {
        return maxInline;
    }

    /**
     * Tell whether completions can be awaited as events.
     *
     * @return true if the queues are bound to a completion channel
     */
    public boolean events() {
        return events;
    }

    /**
     * Get how often a packet is sent again that nobody acknowledges.
     *
     * @return 0 … 7
     */
    public int retryCount() {
        return retryCount;
    }

    /**
     * Get how often a send is repeated for which the peer has posted no receive.
     *
     * @return 0 … 6; 7 for without end
     */
    public int rnrRetryCount() {
        return rnrRetryCount;
    }

    int ackTimeout() {
        return ackTimeout;
    }

    Duration timeout() {
        return timeout;
    }
}
