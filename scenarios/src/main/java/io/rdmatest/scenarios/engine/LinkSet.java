package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import io.rdmatest.Closer;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.scenarios.options.AddressTexts;
import io.rdmatest.scenarios.options.ConnectionOptions;
import io.rdmatest.scenarios.role.PeerPlan;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The queue pairs of one side to one peer, and the messages over them, on one thread. This is the common part of the reliable
 * connections of ucmatose and the datagram paths of udaddy.
 *
 * <p>Two sides of rdmatest exchange their {@link PeerPlan}, and then compare every byte. Messages of a C program are only
 * counted.
 *
 * @param <O> the options of the program
 * @param <L> the type of the links
 */
public abstract class LinkSet<O extends ConnectionOptions<O>, L extends LinkSet.Link> implements AutoCloseable {

    /** What to do if the sides disagree. */
    protected static final String SAME_COUNTS = "start both sides with the same -c, -C and -S";

    /** The role's context. */
    protected final RoleContext context;

    /** The program's options. */
    protected final O options;

    /** Whether this side is the server. */
    protected final boolean server;

    /** The messages of each link and direction. */
    protected final int messages;

    /** The size of a message in bytes; 0 if there are none. */
    protected final int size;

    /** The links, by their index. */
    protected final List<L> links = new ArrayList<>();

    /** The resources that are closed after the queue pairs. */
    protected final Closer resources = new Closer();

    /** The peer, readable for people. */
    protected String peer = "the peer";

    /** Requests beyond the number of links, which were rejected. */
    protected int surplus;

    /** Messages whose completion is no longer awaited. */
    protected int lost;

    private final PeerPlan.Program program;
    private final QpType type;
    private final String plural;
    private final Map<DeviceContext, ConnectionPool> pools = new IdentityHashMap<>();
    private long messagesReceived;
    private long messagesSent;
    private long bytesReceived;
    private long bytesVerified;

    /** A queue pair to the peer, and how far its messages are. */
    protected abstract static class Link {

        /** The position in the set. */
        public final int index;

        /** The client's number of the link, from which the payload is computed. */
        public int number;

        /** Whether its messages are compared. */
        public boolean verified;

        /** The messages that arrived. */
        public int received;

        /** The messages that were posted. */
        public int posted;

        /** The messages that completed. */
        public int sent;

        /** Whether the peer has ended it: then failed completions mean nothing. */
        public boolean gone;

        /** The duration of address resolution in nanoseconds; 0 at the server. */
        public long resolve;

        /** The duration of route resolution in nanoseconds; 0 at the server. */
        public long route;

        /** The time from the request to the answer in nanoseconds. */
        public long connect;

        /** The name of it and of this side, for messages. */
        public String where = "";

        private @Nullable QueuePair queuePair;
        private @Nullable ConnectionPool pool;

        /** Creates one without a queue pair. */
        protected Link(int index) {
            this.index = index;
            this.number = index;
        }

        /** Returns the queue pair. */
        public final QueuePair queuePair() {
            return present(queuePair);
        }

        /** Returns the pool that the links on its device share. */
        public final ConnectionPool pool() {
            return present(pool);
        }

        /** Returns a part of the link that a step has made. */
        protected final <T> T present(@Nullable T value) {
            if (value == null) {
                throw new IllegalStateException("Link " + index + " has not come to this step yet");
            }
            return value;
        }
    }

    /**
     * Creates a set without links.
     *
     * @param program the program
     * @param type RC or UD
     * @param plural the program's word for several links
     */
    protected LinkSet(
            RoleContext context, O options, boolean server, PeerPlan.Program program, QpType type, String plural) {
        this.context = context;
        this.options = options;
        this.server = server;
        this.program = program;
        this.type = type;
        this.plural = plural;
        // No messages and messages of no bytes are the same.
        this.messages = options.hasMessages() ? options.messages() : 0;
        this.size = options.hasMessages() ? options.sizeBytes() : 0;
    }

    // ---- addresses ----

    /** Binds a new id of a channel to the server's address, and listens. */
    protected final CmId listen(EventChannel channel) {
        CmId id = resources.own(channel.createId(options.portSpace()));
        // As the C program, a server that may use any device binds to any address.
        boolean own = options.bindAddress() != null || context.staysOnDevice();
        String bind = own ? options.bindAddress() : isNative() ? "::" : "0.0.0.0";
        try {
            if (bind == null) {
                id.bind(new InetSocketAddress(context.device().address(), options.port()));
            } else {
                id.bind(AddressTexts.passive(
                        options.addressFormat(), options.portSpace(), bind, options.port(), options.timeout()));
            }
            // As the C program: 0 leaves the backlog to the kernel, which takes its maximum.
            id.listen(0);
        } catch (RdmaException e) {
            throw ofAddress(e, bind, (bind == null ? "the device's address" : bind) + " port " + options.port());
        }
        return id;
    }

    /** Looks up the server's address. Without an option, the server sends its port. */
    protected final AddressInfo lookUp() {
        String host = options.serverAddress();
        int port = options.port() != 0
                ? options.port()
                : Integer.parseInt(context.hear("port of the " + name() + " server", options.timeout()));
        String address = host != null ? host : context.peerAddress().getHostAddress();
        String source = DeviceBinding.source(context, options.addressFormat(), address, options.bindAddress());
        peer = address + " port " + port;
        return AddressTexts.active(
                options.addressFormat(), options.portSpace(), address, port, source, options.timeout());
    }

    /** Explains why an address can't be bound or resolved. */
    protected RuntimeException ofAddress(RdmaException failure, @Nullable String address, String where) {
        return isNative() && address != null
                ? AddressTexts.unsupported(address, failure)
                : CmFailures.ofAddress(failure, where);
    }

    /** Returns whether the addresses are GIDs. */
    protected final boolean isNative() {
        return options.addressFormat() == AddressInfo.Format.GID;
    }

    /** Returns the link layer of an id's port. */
    protected static LinkLayer linkLayer(CmId id) {
        return id.context().port(id.port()).linkLayer();
    }

    private String name() {
        return program.name().toLowerCase(Locale.ROOT);
    }

    // ---- what both sides know of each other ----

    /** Returns the plan that the peer must agree to, for the private data. */
    protected final PeerPlan plan(int number) {
        return new PeerPlan(program, options.connections(), messages, size, number);
    }

    /**
     * Reads the plan of a request, and rejects one that this side disagrees with.
     *
     * @return the plan; empty if the peer is the C program
     */
    protected final Optional<PeerPlan> agree(CmEvent request) {
        Optional<PeerPlan> plan = PeerPlan.decode(request.privateData());
        Optional<ScenarioException> disagreement = plan.flatMap(other -> plan(-1).disagreement(other));
        if (disagreement.isPresent()) {
            reject(request.id());
            throw disagreement.get();
        }
        return plan;
    }

    /** Rejects a request beyond the number of links. */
    protected final void rejectSurplus(CmEvent request) {
        surplus++;
        reject(request.id());
    }

    /** Rejects a request. A client of rdmatest gets the reason from the plan. */
    private void reject(CmId id) {
        try (id) {
            id.reject(plan(-1).encode());
        }
    }

    /** Explains an event that ends an attempt to connect. A server of rdmatest gives the reason of its rejection. */
    protected final RuntimeException refused(CmEvent event, CmEvent.Type wanted, String cure) {
        return PeerPlan.decode(event.privateData())
                .<RuntimeException>map(refusal -> plan(-1).disagreement(refusal)
                        .orElseGet(() -> new ScenarioException(
                                Cause.REJECTED,
                                "The server at " + peer + " has all its " + refusal.connections() + " " + plural
                                        + ": start one client only, or the server again")))
                .orElseGet(() -> CmFailures.of(event, wanted, peer, cure));
    }

    /** Notes the peer's plan for a link that has its queue pair. Fails if this side disagrees with the plan. */
    protected final void know(L link, Optional<PeerPlan> plan) {
        if (server && plan.isPresent()) {
            link.number = plan.get().number();
        }
        link.verified = plan.isPresent() && link.pool().canVerify();
        link.where = "%s %d at the %s".formatted(singular(), link.number, server ? "server" : "client");
        plan.flatMap(other -> plan(link.number).disagreement(other)).ifPresent(disagreement -> {
            throw disagreement;
        });
    }

    private String singular() {
        return plural.substring(0, plural.length() - 1);
    }

    // ---- queue pairs ----

    /**
     * Creates the queue pair of a link and posts its receives.
     *
     * @param device its device
     * @param create creates the queue pair; it calls {@link ConnectionPool#made} before what may fail afterwards
     */
    protected final void attach(
            L link, DeviceContext device, BiFunction<ConnectionPool, QueuePairAttributes, QueuePair> create) {
        ConnectionPool pool = pools.computeIfAbsent(
                device, opened -> new ConnectionPool(opened, type, options.connections(), messages, size));
        Link attached = link;
        attached.pool = pool;
        try {
            attached.queuePair = create.apply(pool, pool.attributes(link.index));
        } catch (RdmaException e) {
            throw pool.limit(e);
        }
        pool.postReceives(link.queuePair(), link.index);
    }

    // ---- messages ----

    /** Receives every message of every link. */
    public final void receive() {
        await("message of the " + name() + " peer", true);
    }

    /** Sends every message on every link, and waits for the completions. */
    public final void send() {
        links.forEach(this::post);
        await("completion of a message to the " + name() + " peer", false);
    }

    /** Posts as many messages as have a slot. */
    private void post(L link) {
        ConnectionPool pool = link.pool();
        int count = Math.min(pool.sendSlots() - (link.posted - link.sent), messages - link.posted);
        if (count <= 0) {
            return;
        }
        for (int i = link.posted; i < link.posted + count; i++) {
            MemorySegment payload = pool.toSend(link.index, i);
            fill(link, payload, i);
            options.fault().apply((long) link.index * messages + i, allMessages(), payload);
        }
        post(link, link.posted, count);
        link.posted += count;
    }

    private long allMessages() {
        return (long) options.connections() * messages;
    }

    /** Fills a message. */
    protected void fill(L link, MemorySegment payload, int message) {
        Payload.fill(payload, PeerPlan.payload(link.number, messages, message, server));
    }

    /** Returns the number of the payload of a message from the peer. */
    protected final long expected(L link, int message) {
        return PeerPlan.payload(link.number, messages, message, !server);
    }

    /** Posts messages, which are filled and have free slots. */
    protected abstract void post(L link, int first, int count);

    /**
     * Examines a receive that completed.
     *
     * @param slot the number of its slot
     * @return the bytes of the message
     */
    protected abstract int examine(L link, int slot, Completions completions, int index);

    /** Compares the message that was received last. */
    protected abstract void verify(L link, int slot);

    /** Explains a completion that failed. */
    protected abstract RuntimeException failed(L link, Completions completions, int index, boolean send);

    /** Explains that the peer sends more than this side expects. */
    protected final ScenarioException tooLong(String on, Throwable cause) {
        return new ScenarioException(
                Cause.SIZE_REFUSED,
                "The peer sends more than the %d bytes of -S %s: start both sides with the same -S".formatted(size, on),
                cause);
    }

    /** Handles the events that are there, during a wait for completions; returns whether there were any. */
    protected abstract boolean takeEvents();

    /** Returns a text about the progress, for the message of a timeout. */
    protected abstract String state();

    /** Explains a wait without any completion. */
    protected abstract RuntimeException silence(RdmaTimeoutException timeout);

    private void await(String what, boolean receives) {
        long count = allMessages();
        long deadline = Deadline.end(options.timeout());
        boolean progress = false;
        for (int idle = 1; (receives ? messagesReceived : messagesSent + lost) < count; idle++) {
            if (pollCompletions()) {
                idle = 0;
                progress = true;
            } else if (Spin.isTimeToLook(idle)) {
                context.checkCancelled();
                if (takeEvents() | progress) {
                    progress = false;
                    deadline = Deadline.end(options.timeout());
                } else if (Deadline.isOver(deadline)) {
                    throw silence(new RdmaTimeoutException(what, Deadline.of(deadline, options.timeout()), state()));
                }
            }
        }
    }

    /**
     * Takes what completed, the sends first: a failed send tells more than the receives that are flushed with it.
     *
     * @return whether anything did
     */
    protected final boolean pollCompletions() {
        boolean any = false;
        for (ConnectionPool pool : pools.values()) {
            List<ConnectionPool.@Nullable Queues> all = pool.queues();
            for (int i = 0; i < all.size(); i++) {
                ConnectionPool.Queues queues = all.get(i);
                if (queues != null) {
                    any |= takeSends(queues);
                    any |= takeReceives(queues);
                }
            }
        }
        return any;
    }

    private boolean takeSends(ConnectionPool.Queues queues) {
        Completions completions = queues.completions();
        int count = queues.send().poll(completions);
        for (int i = 0; i < count; i++) {
            L link = links.get(ConnectionPool.connection(completions.wrId(i)));
            if (completions.isSuccess(i)) {
                link.sent++;
                messagesSent++;
                post(link);
            } else if (!link.gone) {
                throw failed(link, completions, i, true);
            }
        }
        return count > 0;
    }

    private boolean takeReceives(ConnectionPool.Queues queues) {
        Completions completions = queues.completions();
        int count = queues.receive().poll(completions);
        for (int i = 0; i < count; i++) {
            L link = links.get(ConnectionPool.connection(completions.wrId(i)));
            if (completions.isSuccess(i)) {
                take(link, completions, i);
            } else if (!link.gone) {
                throw failed(link, completions, i, false);
            }
        }
        return count > 0;
    }

    private void take(L link, Completions completions, int index) {
        int slot = ConnectionPool.message(completions.wrId(index));
        int length = examine(link, slot, completions, index);
        link.received++;
        messagesReceived++;
        bytesReceived += length;
        if (link.verified) {
            verify(link, slot);
            bytesVerified += length;
        }
    }

    // ---- results ----

    /** Returns the number of messages that arrived. */
    protected final long messagesReceived() {
        return messagesReceived;
    }

    /** Returns the number of messages that completed. */
    protected final long messagesSent() {
        return messagesSent;
    }

    /** Returns the number of bytes that arrived. */
    protected final long bytesReceived() {
        return bytesReceived;
    }

    /** Returns the number of bytes that were compared. */
    protected final long bytesVerified() {
        return bytesVerified;
    }

    /** Returns why messages were not compared; empty if all were, or there were none. */
    protected final String unverified() {
        if (messages == 0 || links.stream().allMatch(link -> link.verified)) {
            return "";
        }
        return pools.values().stream().allMatch(ConnectionPool::canVerify)
                ? "the peer is the C program"
                : "the messages are more than there is memory for before they are compared";
    }

    /** Destroys queue pairs, what they shared, ids and channels, in this order. */
    @Override
    public void close() {
        pools.values().forEach(resources::own);
        pools.clear();
        resources.close();
    }
}
