package io.rdmatest.scenarios.rping;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.ForwardingContext;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.MemoryRegion;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One run of {@link RpingRoles.Server}. */
final class RpingServer {

    /** How many failures of clients are kept: a server that runs for months must not grow. */
    static final int FAILURES_KEPT = 100;

    private static final String ADVERTISEMENT = "advertisement of the rping client";
    private static final int BACKLOG = 3;
    private static final int PERSISTENT_BACKLOG = 128;
    private static final Duration SLICE = Duration.ofMillis(50);

    /** How long the clients' threads may take to notice that it is over; their waits look every few milliseconds. */
    private static final Duration GRACE = Duration.ofSeconds(15);

    private final RoleContext context;
    private final RpingOptions options;
    private final Consumer<String> printed;
    private final Consumer<Throwable> failedClient;

    /** Whether this server is done, for whatever reason; the threads of its clients then end. */
    private volatile boolean ending;

    /** Guards what follows. */
    private final Object lock = new Object();

    private final List<String> failures = new ArrayList<>();
    private long pings;
    private long bytes;
    private int clients;
    private int serving;
    private int failed;

    RpingServer(RoleContext context, RpingOptions options, Consumer<String> printed, Consumer<Throwable> failedClient) {
        this.context = new ForwardingContext(context) {
            @Override
            public boolean isCancelled() {
                return ending || super.isCancelled();
            }
        };
        this.options = options;
        this.printed = printed;
        this.failedClient = failedClient;
    }

    RpingRoles.ServerResult run() {
        int backlog = options.persistent() ? PERSISTENT_BACKLOG : BACKLOG;
        // As the C program, a server that may use any device binds to any address.
        boolean own = options.address() != null || context.staysOnDevice();
        InetAddress address = own ? options.address() : InetAddress.ofLiteral("0.0.0.0");
        try (RcLink.Listener listener = RcLink.Listener.open(context, address, options.port(), backlog)) {
            context.trace(() -> "listening: " + listener.id().describe());
            context.tell(Integer.toString(listener.id().localPort()));
            CmEvent first = listener.awaitRequest(options.firstWait());
            if (options.persistent()) {
                serveMany(listener, first);
            } else {
                clients = 1;
                Session session = new Session();
                serve(first, session);
                add(session);
            }
            return result();
        }
    }

    private RcLink.Spec spec() {
        return RcLink.Spec.rping(options.bringUp(), options.timeout());
    }

    // ---- many clients ----

    /** Serves each client on a thread of its own until the role is cancelled. */
    private void serveMany(RcLink.Listener listener, CmEvent first) {
        List<Thread> threads = new ArrayList<>();
        try {
            Optional<CmEvent> request = Optional.of(first);
            while (true) {
                request.ifPresent(event -> admit(event, threads));
                if (context.isCancelled()) {
                    return;
                }
                request = listener.pollRequest(SLICE);
            }
        } finally {
            end(threads);
        }
    }

    private void admit(CmEvent request, List<Thread> threads) {
        int number;
        boolean full;
        synchronized (lock) {
            number = ++clients;
            full = serving >= options.clientLimit();
        }
        threads.removeIf(thread -> thread.getState() == Thread.State.TERMINATED);
        if (full) {
            // As it was told to do: nothing is wrong with the server.
            note(
                    number,
                    describe(request),
                    reject(
                            request,
                            RpingHello.Kind.TOO_MANY_CLIENTS,
                            options.clientLimit() + " clients are being served, which is the limit"));
            return;
        }
        Thread thread = Thread.ofPlatform()
                .name("rping-client-" + number)
                .daemon(true)
                .unstarted(() -> serveOneOfMany(number, request));
        serving(1);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            serving(-1);
            // The host has no thread left: this client has to go, the others stay.
            fail(number, describe(request), reject(request, RpingHello.Kind.TOO_MANY_CLIENTS, e.getMessage()));
            return;
        }
        threads.add(thread);
    }

    private static String describe(CmEvent request) {
        return request.id().remoteAddress().toString().substring(1);
    }

    /** Whatever goes wrong with one client ends with it. */
    private void serveOneOfMany(int number, CmEvent request) {
        String client = describe(request);
        Session session = new Session();
        try {
            serve(request, session);
        } catch (RoleCancelledException e) {
            context.trace(() -> "client " + number + " interrupted");
        } catch (RuntimeException | AssertionError e) {
            fail(number, client, e);
        } finally {
            add(session);
            serving(-1);
        }
    }

    private void serving(int more) {
        synchronized (lock) {
            serving += more;
        }
    }

    private void fail(int number, String client, Throwable failure) {
        note(number, client, failure);
        synchronized (lock) {
            failedClient.accept(failure);
        }
    }

    private void note(int number, String client, Throwable failure) {
        String text = "client %d from %s: %s".formatted(number, client, failure.getMessage());
        context.trace(() -> text);
        synchronized (lock) {
            failed++;
            if (failures.size() < FAILURES_KEPT) {
                failures.add(text);
            }
        }
    }

    /** Ends the threads of the clients: nothing may be closed under them. */
    private void end(List<Thread> threads) {
        ending = true;
        Deadline deadline = Deadline.after(GRACE);
        for (Thread thread : threads) {
            if (!deadline.join(thread, () -> {})) {
                throw new IllegalStateException(
                        thread.getName() + " did not end within " + GRACE.toSeconds() + " s of the end of the server");
            }
        }
    }

    // ---- one client ----

    private void serve(CmEvent request, Session session) {
        Optional<RpingHello> hello = RpingHello.read(request.privateData());
        if (hello.isPresent() && hello.get().sizeBytes() > options.sizeBytes()) {
            throw reject(
                    request,
                    RpingHello.Kind.SIZE_REFUSED,
                    "the client wants pings of %d bytes, this server's -S takes at most %d"
                            .formatted(hello.get().sizeBytes(), options.sizeBytes()));
        }
        try (RcLink link = RcLink.accept(context, spec(), request, session::prepare)) {
            session.serve(hello.map(RpingHello::count).orElse(0));
            link.awaitDisconnect();
        }
    }

    private ScenarioException reject(CmEvent request, RpingHello.Kind kind, String why) {
        try (CmId id = request.id()) {
            id.reject(new RpingHello(kind, options.sizeBytes(), 0).toBytes());
        }
        return new ScenarioException(
                kind == RpingHello.Kind.SIZE_REFUSED ? Cause.SIZE_REFUSED : Cause.REJECTED, "Rejected: " + why);
    }

    private void add(Session session) {
        synchronized (lock) {
            pings += session.pings;
            bytes += session.bytes;
        }
    }

    private RpingRoles.ServerResult result() {
        synchronized (lock) {
            return new RpingRoles.ServerResult(pings, bytes, bytes, clients, failed, List.copyOf(failures));
        }
    }

    /** One client: its memory and how far it came. */
    private final class Session {

        private @Nullable RpingLink prepared;
        private @Nullable MemoryRegion memory;
        private long pings;
        private long bytes;

        private byte[] prepare(RcLink link) {
            memory = RpingLink.data(link, options.sizeBytes());
            prepared = new RpingLink(link, "server");
            return new RpingHello(RpingHello.Kind.ACCEPTED, options.sizeBytes(), 0).toBytes();
        }

        /**
         * Answers until the client is done.
         *
         * @param announced how many pings the client says that it makes; 0 if it does not say
         */
        private void serve(int announced) {
            RpingLink link = prepared;
            MemoryRegion data = memory;
            if (link == null || data == null) {
                throw new IllegalStateException("The connection is not prepared yet");
            }
            try {
                answer(link, data);
            } catch (RuntimeException e) {
                ScenarioException lost = link.lost(e, pings);
                throw lost != null ? lost : e;
            }
            int expected = Math.max(announced, options.count());
            if (pings < expected) {
                throw new ScenarioException(
                        Cause.PEER_LOST,
                        "The rping client left after %d of %d pings; its own output says why"
                                .formatted(pings, expected));
            }
        }

        private void answer(RpingLink link, MemoryRegion data) {
            long chunk = Math.min(link.link().largestMessage(), RpingPattern.LARGEST_SIZE);
            while (true) {
                context.checkCancelled();
                if (!link.awaitMessageOrEnd(ADVERTISEMENT)) {
                    return;
                }
                int length = length(link);
                long remote = RpingMessage.addressIn(link.incoming());
                int rkey = RpingMessage.rkeyIn(link.incoming());
                // The client's next message follows at once on the go-ahead.
                link.receiveNext();
                for (long done = 0; done < length; done += chunk) {
                    link.postRead(data, done, (int) Math.min(chunk, length - done), remote + done, rkey);
                    link.awaitRequests();
                }
                RpingPattern.verify(data.bytes(), length, (int) (pings & Integer.MAX_VALUE), "server after RDMA READ");
                bytes += length;
                if (options.verbose()) {
                    printed.accept("server ping data: " + RpingLink.text(data.bytes(), length));
                }
                link.postMessage();
                link.awaitMessage("second " + ADVERTISEMENT);
                link.awaitRequests();
                remote = RpingMessage.addressIn(link.incoming());
                rkey = RpingMessage.rkeyIn(link.incoming());
                link.receiveNext();
                damage(data, length);
                for (long done = 0; done < length; done += chunk) {
                    // All but the last, whose completion is that of the go-ahead.
                    link.awaitRequests();
                    link.postWrite(data, done, (int) Math.min(chunk, length - done), remote + done, rkey);
                }
                // A SEND never overtakes a WRITE on the same connection:
                // the client finds the data when it has the message.
                link.postMessage();
                link.awaitRequests();
                pings++;
            }
        }

        private void damage(MemoryRegion data, int length) {
            if (options.fault() != Fault.NONE) {
                options.fault().apply(pings, options.count(), data.bytes().asSlice(0, length));
            }
        }

        private int length(RpingLink link) {
            int length = RpingMessage.lengthIn(link.incoming());
            if (Integer.compareUnsigned(length, options.sizeBytes()) > 0) {
                throw new ScenarioException(
                        Cause.SIZE_REFUSED,
                        "The client wants pings of %s bytes, this server's -S takes at most %d: start it with more"
                                .formatted(Integer.toUnsignedString(length), options.sizeBytes()));
            }
            if (length < RpingPattern.MIN_SIZE) {
                throw new AssertionError("The client advertised %d bytes; a ping has at least %d"
                        .formatted(length, RpingPattern.MIN_SIZE));
            }
            return length;
        }
    }
}
