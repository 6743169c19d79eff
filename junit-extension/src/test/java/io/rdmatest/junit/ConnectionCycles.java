package io.rdmatest.junit;

import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.RejectReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Connects and disconnects over and over, both ends in this JVM, sixteen at once; every fifth cycle takes one of the ways
 * out that are not the usual one. What a cycle ends with is checked, so that a cycle that fails otherwise is not counted.
 */
final class ConnectionCycles implements AutoCloseable {

    /** How a cycle ends. */
    enum Kind {
        /** Connects, disconnects, and both sides get DISCONNECTED. */
        REGULAR,
        /** The server rejects. */
        REJECTED,
        /** The client asks at a port where nobody listens. */
        NO_LISTENER,
        /** The client closes its id after it asked and before the server answers. */
        ABORTED,
        /** The client closes everything with the connection up, and does not disconnect. */
        DROPPED,
        /** The client closes its id after the address is resolved. */
        GIVEN_UP;

        private static final Kind[] EXCEPTIONS = {REJECTED, NO_LISTENER, ABORTED, DROPPED, GIVEN_UP};

        static Kind of(int cycle) {
            return cycle % 5 == 4 ? EXCEPTIONS[cycle / 5 % EXCEPTIONS.length] : REGULAR;
        }
    }

    static final int AT_ONCE = 16;

    /** One alone would wait for the kernel while a processor is idle. */
    private static final int SERVERS = 4;

    private static final int MEMORY = 4096;
    /**
     * Longer than the 69 s after which rdma_cm gives up an answer that nobody acknowledges (16 times, 4.3 s each): the one that
     * a server gave to a client which was gone, when the kernel took the client's withdrawal before its request.
     */
    private static final Duration STEP = Duration.ofSeconds(90);

    private static final Duration SLICE = Duration.ofMillis(100);

    private final InetAddress address;
    private final EventChannel channel = EventChannel.create();
    /** Bound, so that nobody else gets its port, and deaf. */
    private final CmId deaf;

    private final ExecutorService clients = Executors.newFixedThreadPool(AT_ONCE);
    private final ExecutorService serving = Executors.newFixedThreadPool(SERVERS);
    private final List<Server> servers;
    private volatile boolean stopping;
    private final AtomicInteger cycles = new AtomicInteger();
    private final Map<Kind, AtomicInteger> done = new ConcurrentHashMap<>();
    /** Of the cycles that are under way: counted down when the client has closed its side. */
    private final Map<Integer, CountDownLatch> closed = new ConcurrentHashMap<>();
    /** Likewise, by the server. */
    private final Map<Integer, CountDownLatch> atServers = new ConcurrentHashMap<>();
    /** The device is reset: cycles may be lost, and are counted. */
    private volatile boolean resetting;

    private final AtomicInteger lost = new AtomicInteger();

    ConnectionCycles(InetAddress address) {
        this.address = address;
        deaf = channel.createId(PortSpace.TCP);
        deaf.bind(new InetSocketAddress(address, 0));
        servers = Stream.generate(Server::new).limit(SERVERS).toList();
    }

    /** Runs so many cycles, and returns when neither side has anything left of them. */
    void run(int count, Runnable eachCycle) throws Exception {
        Semaphore served = new Semaphore(0);
        List<Future<?>> futures = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int cycle = cycles.getAndIncrement();
            futures.add(clients.submit(() -> {
                one(cycle);
                eachCycle.run();
                served.release();
            }));
        }
        for (Future<?> future : futures) {
            while (true) {
                for (Server server : servers) {
                    if (server.thread.isDone()) {
                        server.thread.get();
                    }
                }
                try {
                    future.get(SLICE.toMillis(), TimeUnit.MILLISECONDS);
                    break;
                } catch (TimeoutException e) {
                    // Each step of a cycle has a deadline of its own.
                }
            }
        }
        if (!served.tryAcquire(count)) {
            throw new AssertionError("only " + served.availablePermits() + " of " + count + " cycles were completed");
        }
    }

    /**
     * Runs so many cycles, with a reset of the device in the middle, and returns when neither side has anything left of them.
     *
     * @param reset resets the device
     * @param recover makes it be there again; called when nothing is left
     * @return how many cycles were lost
     */
    int runThroughReset(int count, Runnable reset, Runnable recover) throws Exception {
        AtomicInteger ended = new AtomicInteger();
        int before = lost.get();
        run(count, () -> {
            if (ended.incrementAndGet() == count / 2) {
                resetting = true;
                reset.run();
            }
        });
        long deadline = System.nanoTime() + STEP.toNanos();
        while (servers.stream().anyMatch(server -> !server.open.isEmpty())) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("the servers still have connections " + STEP + " after the reset");
            }
            LockSupport.parkNanos(SLICE.toNanos());
        }
        recover.run();
        resetting = false;
        return lost.get() - before;
    }

    Map<Kind, Integer> done() {
        Map<Kind, Integer> counts = new HashMap<>();
        done.forEach((kind, count) -> counts.put(kind, count.get()));
        return counts;
    }

    // ---- the client ----

    private void one(int cycle) {
        Kind kind = Kind.of(cycle);
        CountDownLatch latch = new CountDownLatch(1);
        CountDownLatch atServer = new CountDownLatch(1);
        closed.put(cycle, latch);
        atServers.put(cycle, atServer);
        boolean completed = false;
        try (EventChannel events = EventChannel.create();
                CmId id = events.createId(PortSpace.TCP)) {
            CmId target = kind == Kind.NO_LISTENER ? deaf : servers.get(cycle % SERVERS).listener;
            id.resolveAddress(address, new InetSocketAddress(address, target.localPort()), STEP);
            if (kind != Kind.GIVEN_UP) {
                id.resolveRoute(STEP);
                connect(kind, cycle, id);
            }
            completed = true;
        } catch (RdmaException | UnexpectedCmEventException e) {
            if (!resetting) {
                throw e;
            }
        } finally {
            latch.countDown();
        }
        if (completed && kind != Kind.GIVEN_UP && kind != Kind.NO_LISTENER) {
            await(atServer, "the server's side of cycle " + cycle + ", " + kind);
        }
        CountDownLatch ignored = closed.remove(cycle);
        ignored = atServers.remove(cycle);
        if (!completed) {
            int all = lost.incrementAndGet();
            return;
        }
        int count = done.computeIfAbsent(kind, key -> new AtomicInteger()).incrementAndGet();
    }

    private void connect(Kind kind, int cycle, CmId id) {
        try (Side side = new Side(id)) {
            id.connect(parameters(kind, cycle));
            switch (kind) {
                case REGULAR -> {
                    CmEvent ignored = id.expectEvent(CmEvent.Type.ESTABLISHED, STEP);
                    id.disconnect();
                    ignored = id.expectEvent(CmEvent.Type.DISCONNECTED, STEP);
                }
                case DROPPED -> {
                    CmEvent ignored = id.expectEvent(CmEvent.Type.ESTABLISHED, STEP);
                }
                case REJECTED -> requireRefusal(id, RejectReason.CONSUMER_DEFINED);
                case NO_LISTENER -> requireRefusal(id, RejectReason.INVALID_SERVICE_ID);
                case ABORTED, GIVEN_UP -> {}
            }
        }
    }

    private static void requireRefusal(CmId id, RejectReason reason) {
        try {
            CmEvent event = id.expectEvent(CmEvent.Type.ESTABLISHED, STEP);
            throw new AssertionError("expected a rejection, " + reason + ", but got " + event);
        } catch (UnexpectedCmEventException e) {
            if (e.rejectReason().filter(reason::equals).isEmpty()) {
                throw e;
            }
        }
    }

    private static ConnectionParameters parameters(Kind kind, int cycle) {
        return ConnectionParameters.builder()
                .responderResources(1)
                .initiatorDepth(1)
                .retryCount(7)
                .rnrRetryCount(7)
                .privateData(new byte[] {
                    (byte) kind.ordinal(), (byte) (cycle >> 24), (byte) (cycle >> 16), (byte) (cycle >> 8), (byte) cycle
                })
                .build();
    }

    private static void await(CountDownLatch latch, String what) {
        try {
            if (!latch.await(STEP.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError(what + " did not end within " + STEP);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while waiting for " + what);
        }
    }

    /** What either side makes for a connection, besides the id. */
    private static final class Side implements AutoCloseable {
        private final Deque<NativeResource> made = new ArrayDeque<>();

        Side(CmId id) {
            boolean complete = false;
            try {
                ProtectionDomain pd = own(id.context().allocateProtectionDomain());
                CompletionQueue cq = own(id.context().createCompletionQueue(4));
                MemoryRegion memory = own(pd.registerMemory(MEMORY, Access.LOCAL_WRITE));
                QueuePair qp = own(id.createQueuePair(
                        pd,
                        QueuePairAttributes.builder(QpType.RC)
                                .completionQueue(cq)
                                .maxSendWr(2)
                                .maxReceiveWr(2)
                                .build()));
                qp.postReceive(1, memory, 0, MEMORY);
                complete = true;
            } finally {
                if (!complete) {
                    close();
                }
            }
        }

        private <T extends NativeResource> T own(T resource) {
            made.push(resource);
            return resource;
        }

        @Override
        public void close() {
            while (!made.isEmpty()) {
                made.pop().close();
            }
        }
    }

    // ---- the servers ----

    private record Served(int cycle, @Nullable Side side) {}

    /** Has a thread of its own. */
    private final class Server implements AutoCloseable {
        private final EventChannel events = EventChannel.create();
        private final CmId listener = events.createId(PortSpace.TCP);
        private final Map<CmId, Served> open = new ConcurrentHashMap<>();
        private final Future<?> thread;

        Server() {
            listener.bind(new InetSocketAddress(address, 0));
            listener.listen(4 * AT_ONCE);
            thread = serving.submit(this::serve);
        }

        private void serve() {
            while (!stopping || !open.isEmpty()) {
                CmEvent event;
                try {
                    event = events.await(SLICE);
                } catch (RdmaTimeoutException e) {
                    continue;
                }
                switch (event.type()) {
                    case CONNECT_REQUEST -> request(event);
                    case DISCONNECTED -> {
                        disconnect(event.id());
                        end(event.id());
                    }
                    // The request that was answered after its client had gone.
                    case REJECTED, UNREACHABLE, CONNECT_ERROR -> end(event.id());
                    default -> {}
                }
            }
        }

        private void request(CmEvent event) {
            byte[] data = event.privateData();
            Kind kind = Kind.values()[data[0]];
            int cycle = (data[1] & 0xff) << 24 | (data[2] & 0xff) << 16 | (data[3] & 0xff) << 8 | data[4] & 0xff;
            CmId id = event.id();
            open.put(id, new Served(cycle, null));
            if (kind == Kind.REJECTED) {
                id.reject(new byte[] {1});
                end(id);
                return;
            }
            CountDownLatch client = closed.get(cycle);
            if (kind == Kind.ABORTED && client != null) {
                await(client, "the client's close of cycle " + cycle);
            }
            try {
                open.put(id, new Served(cycle, new Side(id)));
                id.accept(ConnectionParameters.builder()
                        .responderResources(1)
                        .initiatorDepth(1)
                        .rnrRetryCount(7)
                        .build());
            } catch (RdmaException e) {
                // Whichever step comes first once the kernel knows that
                // the client is gone: there is nothing to answer any more.
                if (kind != Kind.ABORTED && client != null && !resetting) {
                    throw e;
                }
                end(id);
            }
        }

        private static void disconnect(CmId id) {
            try {
                id.disconnect();
            } catch (RdmaException e) {
                // The connection is down already: the peer's close was quicker.
            }
        }

        private void end(CmId id) {
            Served served = open.remove(id);
            if (served == null) {
                return;
            }
            if (served.side() != null) {
                served.side().close();
            }
            id.close();
            // A cycle that was lost no longer waits.
            CountDownLatch waiting = atServers.get(served.cycle());
            if (waiting != null) {
                waiting.countDown();
            }
        }

        @Override
        public void close() {
            listener.close();
            events.close();
        }
    }

    @Override
    public void close() throws Exception {
        stopping = true;
        clients.shutdown();
        serving.shutdown();
        try {
            for (Server server : servers) {
                server.thread.get(STEP.toMillis(), TimeUnit.MILLISECONDS);
            }
        } finally {
            servers.forEach(Server::close);
            deaf.close();
            channel.close();
        }
    }
}
