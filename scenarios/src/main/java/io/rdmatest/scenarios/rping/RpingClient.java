package io.rdmatest.scenarios.rping;

import io.rdmatest.Cause;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.MemoryRegion;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** One run of {@link RpingRoles.Client}. */
final class RpingClient {

    private static final String AFTER_READ = "go-ahead of the rping server after RDMA READ";
    private static final String AFTER_WRITE = "go-ahead of the rping server after RDMA WRITE";

    private final RoleContext context;
    private final RpingOptions options;
    private final Consumer<String> printed;
    /** Longer ones count as this long: a histogram that grows would allocate while it measures. */
    private static final long LONGEST_NANOS = TimeUnit.HOURS.toNanos(1);

    private final Histogram latencies = new Histogram(LONGEST_NANOS, 3);

    private @Nullable RpingLink messages;
    private @Nullable MemoryRegion source;
    private @Nullable MemoryRegion sink;
    private long pings;
    private long nanos;

    RpingClient(RoleContext context, RpingOptions options, Consumer<String> printed) {
        this.context = context;
        this.options = options;
        this.printed = printed;
    }

    RpingRoles.ClientResult run() {
        try (RcLink link = connect()) {
            boolean done;
            try {
                done = ping(present(messages), present(source), present(sink));
            } catch (RoleCancelledException e) {
                if (options.count() > 0) {
                    throw e;
                }
                done = false;
            } catch (RuntimeException e) {
                throw explained(link, e);
            }
            if (done) {
                link.disconnect();
            } else {
                link.leave();
            }
            context.trace(() -> "disconnected after " + pings + " pings");
            long returned = pings * options.sizeBytes();
            return new RpingRoles.ClientResult(
                    pings,
                    returned,
                    options.validate() ? returned : 0,
                    nanos,
                    latencies,
                    link.resolveNanos(),
                    link.routeNanos(),
                    link.connectNanos());
        }
    }

    private RcLink connect() {
        RcLink.Spec spec = RcLink.Spec.rping(options.bringUp(), options.timeout());
        InetAddress given = options.address();
        InetAddress remote = given != null ? given : context.peerAddress();
        int port = options.port() != 0
                ? options.port()
                : Integer.parseInt(context.hear("port of the rping server", options.timeout()));
        try {
            return RcLink.connect(context, spec, options.source(), new InetSocketAddress(remote, port), this::prepare);
        } catch (UnexpectedCmEventException e) {
            throw explained(e);
        }
    }

    private byte[] prepare(RcLink link) {
        source = RpingLink.data(link, options.sizeBytes());
        sink = RpingLink.data(link, options.sizeBytes());
        messages = new RpingLink(link, "client");
        return new RpingHello(RpingHello.Kind.REQUEST, options.sizeBytes(), options.count()).toBytes();
    }

    /** Pings until there are enough, which is true, or until the role is cancelled: false. */
    private boolean ping(RpingLink link, MemoryRegion from, MemoryRegion to) {
        boolean endless = options.count() == 0;
        while (endless || pings < options.count()) {
            if (context.isCancelled()) {
                if (endless) {
                    return false;
                }
                context.checkCancelled();
            }
            int ping = (int) (pings & Integer.MAX_VALUE);
            RpingPattern.fill(from.bytes(), ping);
            options.fault().apply(pings, options.count(), from.bytes());
            if (options.validate()) {
                // So that what is compared later is not what an earlier ping left.
                to.fill((byte) 0xff);
            }
            long start = System.nanoTime();
            advertise(link, from, AFTER_READ);
            advertise(link, to, AFTER_WRITE);
            long elapsed = System.nanoTime() - start;
            latencies.recordValue(Math.min(elapsed, LONGEST_NANOS));
            nanos += elapsed;
            if (options.validate()) {
                RpingPattern.verify(to.bytes(), ping, "client after RDMA WRITE");
            }
            if (options.verbose()) {
                printed.accept("ping data: " + RpingLink.text(to.bytes(), to.size()));
            }
            pings++;
        }
        return true;
    }

    private static void advertise(RpingLink link, MemoryRegion buffer, String awaited) {
        RpingMessage.write(link.outgoing(), buffer.address(), buffer.rkey(), (int) buffer.size());
        link.postMessage();
        link.awaitMessage(awaited);
        link.receiveNext();
        link.awaitRequests();
    }

    /** Says why a server of ours rejected; a rejection by anyone else stays what it is. */
    private RuntimeException explained(UnexpectedCmEventException refusal) {
        Optional<RpingHello> hello = RpingHello.read(refusal.privateData());
        if (hello.isEmpty()) {
            return refusal;
        }
        return switch (hello.get().kind()) {
            case SIZE_REFUSED ->
                new ScenarioException(
                        Cause.SIZE_REFUSED,
                        "The rping server takes pings of at most %d bytes, not %d: start it with -S %d or ping with less"
                                .formatted(hello.get().sizeBytes(), options.sizeBytes(), options.sizeBytes()),
                        refusal);
            case TOO_MANY_CLIENTS ->
                new ScenarioException(
                        Cause.REJECTED,
                        "The rping server serves as many clients as it may: try again later or raise its limit",
                        refusal);
            case REQUEST, ACCEPTED -> refusal;
        };
    }

    private RuntimeException explained(RcLink link, RuntimeException failure) {
        ScenarioException lost = present(messages).lost(failure, pings);
        if (lost == null) {
            return failure;
        }
        // A server of ours would have rejected. What the C program does is to fail locally, and to end.
        boolean left = failure instanceof ScenarioException;
        if (left && pings == 0 && RpingHello.read(link.peerData()).isEmpty()) {
            return new ScenarioException(
                    Cause.SIZE_REFUSED,
                    "The rping server ended the connection at the first ping without answering it; its -S is probably"
                            + " smaller than " + options.sizeBytes() + ": start it with -S " + options.sizeBytes()
                            + ", the C program takes up to " + RpingPattern.MAX_SIZE,
                    failure);
        }
        return lost;
    }

    private static <T> T present(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("The connection is not prepared yet");
        }
        return value;
    }
}
