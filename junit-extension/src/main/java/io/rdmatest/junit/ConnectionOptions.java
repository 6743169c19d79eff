package io.rdmatest.junit;

import io.rdmatest.verbs.ProtectionDomain;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a {@link Connection} is like. Immutable; begin with {@link #defaults()} and change what matters. */
public final class ConnectionOptions {

    private static final ConnectionOptions DEFAULTS =
            new ConnectionOptions(ConnectionMode.RDMA_CM, null, 64, 64, 1, 0, false, 7, 7, Duration.ofSeconds(10));

    private final ConnectionMode mode;
    private final @Nullable ProtectionDomain protectionDomain;
    private final int maxSendWr;
    private final int maxReceiveWr;
    private final int maxSge;
    private final int maxInline;
    private final boolean events;
    private final int retryCount;
    private final int rnrRetryCount;
    private final Duration timeout;

    private ConnectionOptions(
            ConnectionMode mode,
            @Nullable ProtectionDomain protectionDomain,
            int maxSendWr,
            int maxReceiveWr,
            int maxSge,
            int maxInline,
            boolean events,
            int retryCount,
            int rnrRetryCount,
            Duration timeout) {
        this.mode = mode;
        this.protectionDomain = protectionDomain;
        this.maxSendWr = atLeast("maxSendWr", maxSendWr, 1);
        this.maxReceiveWr = atLeast("maxReceiveWr", maxReceiveWr, 1);
        this.maxSge = atLeast("maxSge", maxSge, 1);
        this.maxInline = atLeast("maxInline", maxInline, 0);
        this.events = events;
        this.retryCount = threeBits("retryCount", retryCount);
        this.rnrRetryCount = threeBits("rnrRetryCount", rnrRetryCount);
        this.timeout = timeout;
    }

    private static int atLeast(String name, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException(name + " is " + value + ", and must be at least " + least);
        }
        return value;
    }

    private static int threeBits(String name, int value) {
        if (value < 0 || value > 7) {
            throw new IllegalArgumentException(name + " is " + value + ", and must be 0 to 7");
        }
        return value;
    }

    /**
     * Begin with a connection by rdma_cm, a protection domain of its own, 64 work requests of one segment either way, no
     * inline data, no completion events, retry counts of 7, and 10 s for the set-up.
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
        return new ConnectionOptions(
                value,
                protectionDomain,
                maxSendWr,
                maxReceiveWr,
                maxSge,
                maxInline,
                events,
                retryCount,
                rnrRetryCount,
                timeout);
    }

    /**
     * Build both sides on a protection domain that the caller owns. For the modes with rdma_cm it has to be of rdma_cm's own
     * device context; an injected one is.
     *
     * @param value the protection domain; null for one that the connection owns
     * @return changed options; never null
     */
    public ConnectionOptions protectionDomain(@Nullable ProtectionDomain value) {
        return new ConnectionOptions(
                mode, value, maxSendWr, maxReceiveWr, maxSge, maxInline, events, retryCount, rnrRetryCount, timeout);
    }

    /**
     * Size the queues of both sides; the completion queues are sized to hold a completion for each work request.
     *
     * @param sends the most outstanding sends, at least 1
     * @param receives the most outstanding receives, at least 1
     * @return changed options; never null
     */
    public ConnectionOptions depth(int sends, int receives) {
        return new ConnectionOptions(
                mode, protectionDomain, sends, receives, maxSge, maxInline, events, retryCount, rnrRetryCount, timeout);
    }

    /**
     * Bound the segments of a work request.
     *
     * @param value at least 1
     * @return changed options; never null
     */
    public ConnectionOptions maxSge(int value) {
        return new ConnectionOptions(
                mode,
                protectionDomain,
                maxSendWr,
                maxReceiveWr,
                value,
                maxInline,
                events,
                retryCount,
                rnrRetryCount,
                timeout);
    }

    /**
     * Bound the data that can be sent inline.
     *
     * @param bytes at least 0
     * @return changed options; never null
     */
    public ConnectionOptions maxInline(int bytes) {
        return new ConnectionOptions(
                mode,
                protectionDomain,
                maxSendWr,
                maxReceiveWr,
                maxSge,
                bytes,
                events,
                retryCount,
                rnrRetryCount,
                timeout);
    }

    /**
     * Give each side a completion channel, so that completions can be awaited as events.
     *
     * @param value whether to
     * @return changed options; never null
     */
    public ConnectionOptions events(boolean value) {
        return new ConnectionOptions(
                mode,
                protectionDomain,
                maxSendWr,
                maxReceiveWr,
                maxSge,
                maxInline,
                value,
                retryCount,
                rnrRetryCount,
                timeout);
    }

    /**
     * Choose how often the transport tries again.
     *
     * @param retries after a lost packet, 0 to 7
     * @param rnrRetries after "receiver not ready", 0 to 7, where 7 is without end
     * @return changed options; never null
     */
    public ConnectionOptions retries(int retries, int rnrRetries) {
        return new ConnectionOptions(
                mode,
                protectionDomain,
                maxSendWr,
                maxReceiveWr,
                maxSge,
                maxInline,
                events,
                retries,
                rnrRetries,
                timeout);
    }

    /**
     * Bound each wait of the set-up.
     *
     * @param value how long each event may take; never null
     * @return changed options; never null
     */
    public ConnectionOptions timeout(Duration value) {
        return new ConnectionOptions(
                mode,
                protectionDomain,
                maxSendWr,
                maxReceiveWr,
                maxSge,
                maxInline,
                events,
                retryCount,
                rnrRetryCount,
                value);
    }

    ConnectionMode mode() {
        return mode;
    }

    Optional<ProtectionDomain> protectionDomain() {
        return Optional.ofNullable(protectionDomain);
    }

    int maxSendWr() {
        return maxSendWr;
    }

    int maxReceiveWr() {
        return maxReceiveWr;
    }

    int maxSge() {
        return maxSge;
    }

    int maxInline() {
        return maxInline;
    }

    boolean events() {
        return events;
    }

    int retryCount() {
        return retryCount;
    }

    int rnrRetryCount() {
        return rnrRetryCount;
    }

    Duration timeout() {
        return timeout;
    }
}
