package io.rdmatest.scenarios.mckey;

import io.rdmatest.Cause;
import io.rdmatest.Closer;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.JoinFlag;
import io.rdmatest.cm.MulticastMembership;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.engine.Progress;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.Waiting;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.Delivery;
import io.rdmatest.scenarios.role.DeliveryError;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.WorkCompletionException;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The sides of mckey(1): senders to a multicast group and receivers of it, over UD queue pairs of rdma_cm.
 *
 * <p>Both send {@code joined …} when they are members of the group, since nothing on the wire shows it. Messages have a
 * header by which a receiver detects loss, duplicates and order, and a pattern that it verifies. The immediate data is
 * the sender's queue pair number, as in the C program. Messages of the C program have undefined content and are only
 * counted.
 *
 * <p>A <em>directed</em> role follows commands, round by round, so that a scenario can coordinate several roles: see
 * {@link Sender} and {@link Receiver}.
 */
public final class MulticastRoles {

    private static final Duration SLICE = Duration.ofMillis(50);

    /** The limit for the next command of the scenario. */
    private static final Duration DIRECTION = Duration.ofMinutes(10);

    /** The interval between two probes. */
    private static final Duration PROBE_INTERVAL = Duration.ofMillis(100);

    /** The messages of a queue pair that are in flight at once. */
    private static final int BATCH = 64;

    /** The most buffers of all queue pairs of a side. */
    private static final int MOST_SLOTS = 16_384;

    /**
     * The fewest buffers of a receiver, which does not know the number of sending queue pairs, up to {@link
     * #SPARE_BYTES}.
     */
    private static final int SPARE_SLOTS = 1024;

    private static final int SPARE_BYTES = 4 << 20;

    private static final int SHOWN = 4;
    private static final int SHIFT = 32;
    private static final int ALIGNMENT = 64;

    private MulticastRoles() {}

    // ---- sending ----

    /**
     * The results of a sender.
     *
     * @param group the group's MGID
     * @param lid the group's MLID, 0xC000 and above on InfiniBand; without meaning on RoCE
     * @param queuePairs the numbers of the queue pairs
     * @param messages the sent messages, whose work requests completed
     * @param bytes their payload in bytes
     */
    public record Sent(Gid group, int lid, List<Integer> queuePairs, long messages, long bytes) {}

    /**
     * Joins a group with every queue pair, waits for the switches, sends, waits for all completions, and leaves.
     *
     * <p>A directed sender sends a batch for every message "round N", with the sequence numbers from N times the number
     * of messages, and answers "sent". On "end" it ends. It does not wait for switches.
     *
     * @param options the options
     * @param directed whether it follows commands
     */
    public record Sender(MckeyOptions options, boolean directed) implements Role<Sent> {

        /** Creates a sender without commands. */
        public Sender(MckeyOptions options) {
            this(options, false);
        }

        /**
         * Sends.
         *
         * @throws ScenarioException if the group, the size or another option is not supported here
         * @throws WorkCompletionException if a message could not be sent
         */
        @Override
        public Sent run(RoleContext context) {
            try (Member member = new Member(context, options)) {
                member.createSendQueues();
                member.join();
                try (AddressHandle handle =
                        member.domain().createAddressHandle(member.membership().address())) {
                    member.prepareSends(handle);
                    context.tell(member.joined());
                    int rounds = 0;
                    if (directed) {
                        for (String[] order = order(context, options);
                                !order[0].equals("end");
                                order = order(context, options)) {
                            member.send(
                                    Math.multiplyExact(Integer.parseInt(order[1]), options.messages()), rounds++ == 0);
                            context.tell("sent");
                        }
                    } else {
                        member.watch(options.settle());
                        member.send(0, true);
                        rounds = 1;
                    }
                    long messages = (long) rounds * options.queuePairs() * options.messages();
                    return new Sent(
                            member.membership().mgid(),
                            member.membership().lid(),
                            member.numbers(),
                            messages,
                            messages * options.sizeBytes());
                }
            }
        }
    }

    // ---- receiving ----

    /**
     * The results of a receiver, without lost, duplicated or wrong messages.
     *
     * @param group the group's MGID
     * @param lid the group's MLID, 0xC000 and above on InfiniBand; without meaning on RoCE
     * @param queuePairs the numbers of the queue pairs
     * @param deliveries the deliveries by receiver and sender, round by round
     */
    public record Received(Gid group, int lid, List<Integer> queuePairs, List<Delivery> deliveries) {

        /** Copies the lists. */
        public Received {
            queuePairs = List.copyOf(queuePairs);
            deliveries = List.copyOf(deliveries);
        }

        /** Returns the number of received messages. */
        public long messages() {
            return deliveries.stream().mapToLong(Delivery::received).sum();
        }

        /** Returns the number of compared bytes; fewer than the received ones if a sender is the C program. */
        public long bytesVerified() {
            return deliveries.stream().mapToLong(Delivery::bytesVerified).sum();
        }

        /** Returns how many messages arrived after a later one of the same sender. */
        public long reordered() {
            return deliveries.stream().mapToLong(Delivery::reordered).sum();
        }

        /** Returns the weakest verification of all messages. */
        public Delivery.Proof proof() {
            return deliveries.stream().map(Delivery::proof).max(Enum::compareTo).orElse(Delivery.Proof.FULL);
        }
    }

    /**
     * Joins a group with every queue pair, receives the messages of every sender at each of them, verifies them, and
     * leaves.
     *
     * <p>A directed receiver receives a batch for every message "round N" and answers "received". On "leave" it leaves
     * the group and answers "left". On "join" it joins again and answers "joined …". On "end" it verifies that no other
     * message arrived.
     *
     * @param options the options
     * @param directed whether it follows commands
     */
    public record Receiver(MckeyOptions options, boolean directed) implements Role<Received> {

        /** Creates a receiver without commands. */
        public Receiver(MckeyOptions options) {
            this(options, false);
        }

        /**
         * Receives.
         *
         * @throws DeliveryError if messages are lost, duplicated or wrong
         * @throws ScenarioException if no message arrived, or the group or another option is not supported here
         */
        @Override
        public Received run(RoleContext context) {
            if (options.sendOnly() && options.messages() > 0) {
                throw new ScenarioException(
                        Cause.UNSUPPORTED,
                        "A send-only member (-o) receives nothing: use -o with the sender (-s), or -C 0");
            }
            try (Member member = new Member(context, options)) {
                member.createReceiveQueues();
                member.join();
                member.createInboxes();
                context.tell(member.joined());
                Gid group = member.membership().mgid();
                int lid = member.membership().lid();
                List<Delivery> deliveries = new ArrayList<>();
                if (!directed) {
                    deliveries.addAll(member.receive(0));
                    member.leave();
                } else {
                    follow(context, member, deliveries);
                }
                return new Received(group, lid, member.numbers(), deliveries);
            }
        }

        private void follow(RoleContext context, Member member, List<Delivery> deliveries) {
            while (true) {
                String[] order = order(context, options);
                switch (order[0]) {
                    case "round" -> {
                        deliveries.addAll(
                                member.receive(Math.multiplyExact(Integer.parseInt(order[1]), options.messages())));
                        context.tell("received");
                    }
                    case "leave" -> {
                        member.leave();
                        context.tell("left");
                    }
                    case "join" -> {
                        member.join();
                        context.tell(member.joined());
                    }
                    default -> {
                        member.requireNothing();
                        return;
                    }
                }
            }
        }
    }

    // ---- does the group reach the other node? ----

    /**
     * Joins a group and sends one message repeatedly until it gets the answer "heard". On a good fabric the first
     * messages may be lost, until a switch has learnt the group from membership reports or the subnet manager has
     * programmed it.
     *
     * <p>It sends "joined …", and the number of messages. It stays a member until "end", so that the switches keep the
     * group.
     *
     * @param options the options; each probe is one message of one queue pair
     */
    public record ProbeSender(MckeyOptions options) implements Role<Long> {

        /**
         * Sends probes.
         *
         * @throws ScenarioException if the group, the size or another option is not supported here
         */
        @Override
        public Long run(RoleContext context) {
            try (Member member = new Member(context, options)) {
                member.createSendQueues();
                member.join();
                try (AddressHandle handle =
                        member.domain().createAddressHandle(member.membership().address())) {
                    member.prepareSends(handle);
                    context.tell(member.joined());
                    long sent = 0;
                    do {
                        member.send(0, false);
                        sent++;
                    } while (!isHeard(context));
                    context.tell(Long.toString(sent));
                    String[] ignored = order(context, options);
                    return sent;
                }
            }
        }

        /** Returns whether a probe arrived. The receiver has a deadline, and its failure ends this role. */
        private static boolean isHeard(RoleContext context) {
            try {
                String ignored = context.hear("arrival of a probe", PROBE_INTERVAL);
                return true;
            } catch (RdmaTimeoutException e) {
                return false;
            }
        }
    }

    /**
     * Joins a group, and sends "heard" when the first message arrives. It stays a member until "end".
     *
     * @param options the options, with the limit for the first message
     */
    public record ProbeReceiver(MckeyOptions options) implements Role<Boolean> {

        /**
         * Waits for a probe.
         *
         * @throws ScenarioException if none arrived in time, or the group or another option is not supported here
         */
        @Override
        public Boolean run(RoleContext context) {
            try (Member member = new Member(context, options)) {
                member.createReceiveQueues();
                member.join();
                context.tell(member.joined());
                if (!member.awaitMessage(options.timeout())) {
                    throw new ScenarioException(
                            Cause.PEER_ABSENT,
                            "No message to the group %s arrived within %d ms. Check that the switches forward the group: IGMP or MLD snooping with a querier, or the subnet manager"
                                    .formatted(
                                            options.groupText(),
                                            options.timeout().toMillis()));
                }
                context.tell("heard");
                String[] ignored = order(context, options);
                return true;
            }
        }
    }

    private static String[] order(RoleContext context, MckeyOptions options) {
        return context.hear("command for a member of " + options.groupText(), DIRECTION)
                .split(" ", -1);
    }

    // ---- both ----

    /** The queue pairs of one side, with all their resources. */
    private static final class Member implements AutoCloseable {

        private final RoleContext context;
        private final MckeyOptions options;
        private final EventChannel channel;
        private final List<CmId> ids = new ArrayList<>();
        private final List<QueuePair> queuePairs = new ArrayList<>();
        private final List<MulticastMembership> memberships = new ArrayList<>();
        private final Closer resources = new Closer();
        private final MulticastMessage layout;
        private final PortAttributes port;

        private final ProtectionDomain domain;
        private @Nullable Progress progress;
        private @Nullable MemoryRegion region;

        // By queue pair and slot.
        private int depth;
        private MemorySegment[][] slots = new MemorySegment[0][];
        private MemorySegment[][] messages = new MemorySegment[0][];
        private MemorySegment[][] bodies = new MemorySegment[0][];
        private final List<SendRequests> sends = new ArrayList<>();
        private final List<MulticastInbox> inboxes = new ArrayList<>();
        private final int program = MulticastMessage.newProgram();
        private long completions;
        private long taken;

        private Member(RoleContext context, MckeyOptions options) {
            this.context = context;
            this.options = options;
            this.layout = new MulticastMessage(options.sizeBytes());
            try {
                InetAddress local = local();
                channel = own(EventChannel.create());
                CmId first = open(local);
                DeviceBinding.require(context, first);
                port = first.context().port(first.port());
                requirePort(first);
                for (int i = 1; i < options.queuePairs(); i++) {
                    CmId ignored = open(local);
                }
                domain = own(first.context().allocateProtectionDomain());
            } catch (RuntimeException | Error e) {
                throw resources.closeAfter(e);
            }
        }

        /** Returns the address to bind to. */
        private InetAddress local() {
            InetAddress group = options.group();
            if (group == null && options.unmappedGroup() == null) {
                throw new ScenarioException(
                        Cause.UNSUPPORTED, "There is no group to join: give its address (-m) or its MGID (-M)");
            }
            InetAddress bind = options.bind();
            if (bind != null && !bind.isAnyLocalAddress()) {
                return bind;
            }
            if (group == null || group.isAnyLocalAddress()) {
                return context.device().address();
            }
            boolean ipv4 = group instanceof Inet4Address;
            return Addresses.find(context.device(), ipv4)
                    .orElseThrow(() -> new ScenarioException(
                            Cause.NO_ROUTE,
                            "The network interface of %s has no %s address to join %s from: add an address to it, or choose another device"
                                    .formatted(
                                            context.device().device().name(),
                                            ipv4 ? "IPv4" : "IPv6",
                                            group.getHostAddress())));
        }

        private CmId open(InetAddress local) {
            CmId id = own(channel.createId(options.portSpace()));
            InetAddress group = options.group();
            try {
                id.bind(new InetSocketAddress(local, 0));
                if (group != null && !options.isChosenBySubnet()) {
                    id.resolveAddress(null, new InetSocketAddress(group, 0), RcLink.resolving(options.timeout()));
                }
            } catch (RdmaException e) {
                throw switch (e.errnoName()) {
                    case "ENODEV", "EADDRNOTAVAIL", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN" -> noRoute(local, e);
                    default -> unsupported(e);
                };
            } catch (UnexpectedCmEventException e) {
                throw e.got().equals(CmEvent.Type.ADDR_ERROR.cName()) ? noRoute(local, e) : e;
            }
            ids.add(id);
            return id;
        }

        private RuntimeException noRoute(InetAddress local, RuntimeException cause) {
            return new ScenarioException(
                    Cause.NO_ROUTE,
                    "No RDMA device reaches %2$s from %1$s: give -b an address of its network interface, or another --device (%3$s)"
                            .formatted(local.getHostAddress(), options.groupText(), cause.getMessage()),
                    cause);
        }

        private RuntimeException unsupported(RdmaException e) {
            if (!e.isUnsupported()) {
                return e;
            }
            String what = e.call().contains("create_qp") && options.blockLoopback()
                    ? "The device can't block the loopback of multicast messages (-l)"
                    : "%s can't be joined here%s"
                            .formatted(options.groupText(), options.sendOnly() ? " as a send-only member" : "");
            boolean ipv6 = options.group() instanceof Inet6Address
                    || (options.unmappedGroup() != null
                            && !options.unmappedGroup().isIpv4Mapped());
            String cure = ipv6 && e.call().contains("join") ? "; on RoCE v2 use an IPv4 group" : "";
            return new ScenarioException(Cause.UNSUPPORTED, what + cure + ": " + e.getMessage(), e);
        }

        /** Checks the limits of the port before the group is joined. */
        private void requirePort(CmId id) {
            if (options.isChosenBySubnet() && port.linkLayer() == LinkLayer.ETHERNET) {
                throw new ScenarioException(
                        Cause.UNSUPPORTED,
                        "%s lets the subnet administrator choose the group, which only InfiniBand has: name a group, such as"
                                        .formatted(options.groupText())
                                + " 239.1.1.1");
            }
            int mtu = port.activeMtu().bytes();
            if (options.sizeBytes() > mtu) {
                throw new ScenarioException(
                        Cause.SIZE_REFUSED,
                        "A message of %d bytes exceeds the active MTU of the port, %d bytes: choose a smaller -S, or raise the"
                                        .formatted(options.sizeBytes(), mtu)
                                + " MTU on the whole path");
            }
            int most = id.context().attributes().maxMcastQpAttach();
            if (!options.sendOnly() && most > 0 && options.queuePairs() > most) {
                throw new ScenarioException(
                        Cause.UNSUPPORTED,
                        "The device attaches at most %d queue pairs to a group, but -c has %d: choose a smaller -c, or"
                                        .formatted(most, options.queuePairs())
                                + " send with send-only members (-o), which are not attached");
            }
        }

        private <T extends AutoCloseable> T own(T resource) {
            return resources.own(resource);
        }

        // ---- queues ----

        private void createSendQueues() {
            int most = Math.max(1, MOST_SLOTS / options.queuePairs());
            depth = Math.clamp(options.messages(), 1, Math.min(BATCH, most));
            createQueues(options.queuePairs(), depth, 1, 0);
        }

        private void createReceiveQueues() {
            DeviceAttributes limits = ids.getFirst().context().attributes();
            int most = Math.max(1, Math.min(MOST_SLOTS, limits.maxCqe() - 1) / options.queuePairs());
            // Enough for all messages between two polls: the sender probably has the same number of queue pairs.
            long wanted = (long) options.messages() * Math.max(options.queuePairs(), options.senders()) + 1;
            int spare = Math.min(SPARE_SLOTS, SPARE_BYTES / pitch(MulticastInbox.GRH)) / options.queuePairs();
            depth = (int) Math.min(Math.max(wanted, spare), Math.min(most, limits.maxQpWr()));
            createQueues(depth * options.queuePairs(), 1, depth, MulticastInbox.GRH);
            for (int q = 0; q < queuePairs.size(); q++) {
                for (int i = 0; i < depth; i++) {
                    postReceive(q, i);
                }
            }
        }

        private void createQueues(int entries, int sendWr, int receiveWr, int headroom) {
            DeviceContext device = ids.getFirst().context();
            CompletionChannel events = own(device.createCompletionChannel());
            CompletionQueue queue = own(device.createCompletionQueue(entries + 1, events));
            int bytes = headroom + options.sizeBytes();
            int pitch = pitch(headroom);
            int count = options.queuePairs();
            MemoryRegion memory = own(domain.registerMemory((long) pitch * depth * count, Access.LOCAL_WRITE));
            region = memory;
            QueuePairAttributes attributes = QueuePairAttributes.builder(QpType.UD)
                    .completionQueue(queue)
                    .maxSendWr(sendWr)
                    .maxReceiveWr(receiveWr)
                    .blockSelfMulticastLoopback(options.blockLoopback())
                    .build();
            slots = new MemorySegment[count][depth];
            messages = new MemorySegment[count][depth];
            bodies = new MemorySegment[count][depth];
            for (int q = 0; q < count; q++) {
                queuePairs.add(own(createQueuePair(ids.get(q), attributes)));
                for (int i = 0; i < depth; i++) {
                    slots[q][i] = memory.bytes().asSlice(((long) q * depth + i) * pitch, bytes);
                    messages[q][i] = slots[q][i].asSlice(headroom);
                    bodies[q][i] = messages[q][i].asSlice(layout.header());
                }
            }
            progress = new Progress(context, queue, events, Waiting.EVENTS, depth * count, options.timeout());
            progress.endsWhen(this::lookForEvents);
        }

        /** Returns the distance between two buffers in bytes. */
        private int pitch(int headroom) {
            return Math.max(1, (headroom + options.sizeBytes() + ALIGNMENT - 1) / ALIGNMENT) * ALIGNMENT;
        }

        private QueuePair createQueuePair(CmId id, QueuePairAttributes attributes) {
            try {
                return id.createQueuePair(domain, attributes);
            } catch (RdmaException e) {
                throw unsupported(e);
            }
        }

        private long offset(int queuePair, int slot) {
            return slots[queuePair][slot].address() - memory().address();
        }

        private void postReceive(int queuePair, int slot) {
            queuePairs
                    .get(queuePair)
                    .postReceive(
                            ((long) queuePair << SHIFT) | slot | Progress.RECEIVE,
                            memory(),
                            offset(queuePair, slot),
                            (int) slots[queuePair][slot].byteSize());
        }

        // ---- the group ----

        private void join() {
            JoinFlag flag = options.sendOnly() ? JoinFlag.SEND_ONLY_FULL_MEMBER : JoinFlag.FULL_MEMBER;
            for (CmId id : ids) {
                memberships.add(own(join(id, flag)));
            }
        }

        private MulticastMembership join(CmId id, JoinFlag flag) {
            InetAddress group = options.group();
            Gid mgid = options.unmappedGroup();
            try {
                return group != null
                        ? id.joinMulticast(group, flag, options.timeout())
                        : id.joinMulticast(Objects.requireNonNull(mgid), flag, options.timeout());
            } catch (RdmaException e) {
                throw unsupported(e);
            } catch (UnexpectedCmEventException e) {
                if (!e.got().equals(CmEvent.Type.MULTICAST_ERROR.cName())) {
                    throw e;
                }
                if (e.errnoName().equals("ENOMEM")) {
                    throw full(id, e);
                }
                // On InfiniBand the subnet manager answers.
                throw new AssertionError(
                        "Joining the group %s with %s failed: check the subnet manager, and the limits on multicast groups of"
                                        .formatted(options.groupText(), id.describe())
                                + " the switches (" + e.getMessage() + ")",
                        e);
            }
        }

        /** Explains ENOMEM: librdmacm attaches the queue pair to the group, and the device's limit is reached. */
        private ScenarioException full(CmId id, UnexpectedCmEventException e) {
            return new ScenarioException(
                    Cause.UNSUPPORTED,
                    "Can't join the group %s with %s: the device attaches at most %d queue pairs of all programs to a group (%s)"
                            .formatted(
                                    options.groupText(),
                                    id.describe(),
                                    id.context().attributes().maxMcastQpAttach(),
                                    e.getMessage()),
                    e);
        }

        private void leave() {
            while (!memberships.isEmpty()) {
                memberships.removeLast().close();
            }
        }

        private MulticastMembership membership() {
            if (memberships.isEmpty()) {
                throw new IllegalStateException("Not a member of the group");
            }
            return memberships.getFirst();
        }

        private String joined() {
            return "joined %s, MLID 0x%x, with %s"
                    .formatted(
                            membership().mgid(),
                            membership().lid(),
                            queuePairs.size() > SHOWN
                                    ? queuePairs.size() + " queue pairs"
                                    : queuePairs.stream()
                                            .map(qp -> "QP " + qp.number())
                                            .collect(Collectors.joining(", ")));
        }

        private List<Integer> numbers() {
            return queuePairs.stream().map(QueuePair::number).toList();
        }

        /** Waits for a time, and fails if the membership is lost meanwhile. */
        private void watch(Duration time) {
            Deadline deadline = Deadline.after(time);
            while (!deadline.isOver()) {
                Duration left = deadline.remaining();
                context.checkCancelled();
                try {
                    judge(channel.await(left.compareTo(SLICE) < 0 ? left : SLICE));
                } catch (RdmaTimeoutException e) {
                    // No event, as it should be.
                }
            }
        }

        private boolean lookForEvents() {
            channel.poll().ifPresent(Member::judge);
            return false;
        }

        private static void judge(CmEvent event) {
            switch (event.type()) {
                case MULTICAST_ERROR, DEVICE_REMOVAL -> {
                    CmEvent ignored = event.require(CmEvent.Type.MULTICAST_JOIN);
                }
                default -> {
                    // For example ADDR_CHANGE: the address handle stays valid.
                }
            }
        }

        // ---- sending ----

        private void prepareSends(AddressHandle handle) {
            for (int q = 0; q < queuePairs.size(); q++) {
                SendRequests requests = own(SendRequests.allocate(depth));
                for (int i = 0; i < depth; i++) {
                    SendRequests ignored = requests.sendToWithImmediate(
                            i,
                            i,
                            memory(),
                            offset(q, i),
                            options.sizeBytes(),
                            handle,
                            membership().qpNumber(),
                            membership().qkey(),
                            queuePairs.get(q).number());
                }
                sends.add(requests);
            }
        }

        /** Sends every queue pair's messages, in turn and batch by batch, and waits for all completions. */
        private void send(int first, boolean mayDamage) {
            int count = queuePairs.size();
            int end = Math.addExact(first, options.messages());
            long unit = 0;
            int pending = 0;
            long units = (long) count * options.messages();
            for (int from = first; from < end; from += depth) {
                int length = Math.min(depth, end - from);
                for (int q = 0; q < count; q++) {
                    SendRequests requests = sends.get(q);
                    int number = queuePairs.get(q).number();
                    for (int i = 0; i < length; i++) {
                        MemorySegment message = messages[q][i];
                        MemorySegment body = bodies[q][i];
                        layout.write(message, body, program, number, q, count, from + i, end);
                        if (mayDamage) {
                            options.fault().apply(unit, units, body.byteSize() > 0 ? body : message);
                        }
                        unit++;
                        requests.signaled(i, i == length - 1);
                    }
                    queuePairs.get(q).post(requests, 0, length);
                    completions++;
                    pending += length;
                    // The only flow control: otherwise many queue pairs could send faster than receivers receive.
                    if (pending >= BATCH) {
                        progress().awaitSends(completions);
                        pending = 0;
                    }
                }
                progress().awaitSends(completions);
            }
        }

        // ---- receiving ----

        private void createInboxes() {
            boolean ipv4 = port.linkLayer() == LinkLayer.ETHERNET
                    && membership().mgid().isIpv4Mapped();
            for (int q = 0; q < queuePairs.size(); q++) {
                inboxes.add(new MulticastInbox(
                        q, queuePairs.get(q).number(), options, membership().mgid(), ipv4));
            }
        }

        /** Receives a round of messages at every queue pair. */
        private List<Delivery> receive(int first) {
            inboxes.forEach(inbox -> inbox.begin(first));
            int open = options.messages() == 0 ? 0 : inboxes.size();
            boolean any = false;
            Duration patience = options.firstWait();
            while (open > 0) {
                if (!awaitMessage(any ? options.timeout() : patience)) {
                    if (!any) {
                        throw new ScenarioException(
                                Cause.PEER_ABSENT,
                                "No message to the group %s arrived within %d ms: is there a sender (mckey -s) to the same group, in"
                                                .formatted(options.groupText(), patience.toMillis())
                                        + " the same port space and network?");
                    }
                    break;
                }
                any = true;
                MulticastInbox inbox = inboxes.get((int) (progress().wrId() >>> SHIFT));
                boolean before = inbox.isComplete();
                take(inbox);
                if (inbox.isComplete() && !before) {
                    open--;
                }
            }
            return judge();
        }

        private boolean awaitMessage(Duration limit) {
            try {
                return progress().awaitReceiveWithin(limit, "message to the group " + options.groupText());
            } catch (WorkCompletionException e) {
                throw !DriverQuirks.isMessageTooLong(domain.context().driver(), e.status())
                        ? e
                        : new ScenarioException(
                                Cause.SIZE_REFUSED,
                                "A received message is larger than %d bytes: give the receiver the sender's -S (%s)"
                                        .formatted(options.sizeBytes(), e.getMessage()),
                                e);
            }
        }

        private void take(MulticastInbox inbox) {
            Progress from = progress();
            int q = (int) (from.wrId() >>> SHIFT);
            int slot = (int) from.wrId();
            inbox.take(
                    from.sourceQp(),
                    from.hasImmediate(),
                    from.immediate(),
                    from.hasGrh(),
                    from.byteLength(),
                    slots[q][slot],
                    messages[q][slot],
                    bodies[q][slot]);
            taken++;
            postReceive(q, slot);
        }

        private List<Delivery> judge() {
            List<Delivery> deliveries = new ArrayList<>();
            inboxes.forEach(inbox -> deliveries.addAll(inbox.deliveries()));
            List<Delivery> bad =
                    deliveries.stream().filter(delivery -> !delivery.isGood()).toList();
            if (bad.isEmpty()) {
                return deliveries;
            }
            List<String> parts = new ArrayList<>();
            bad.stream().limit(SHOWN).map(Delivery::toString).forEach(parts::add);
            if (bad.size() > SHOWN) {
                parts.add("in total %d pairs of receiver and sender".formatted(bad.size()));
            }
            inboxes.stream()
                    .map(MulticastInbox::missing)
                    .filter(text -> !text.isEmpty())
                    .findFirst()
                    .ifPresent(parts::add);
            for (MulticastInbox inbox : inboxes) {
                String problem = inbox.problem();
                if (problem != null) {
                    parts.add("the first wrong one is " + problem);
                    break;
                }
            }
            throw new DeliveryError(
                    "Wrong delivery of the group %s: %d messages lost, %d duplicated, %d with wrong data, %d with a wrong header; %s"
                            .formatted(
                                    options.groupText(),
                                    bad.stream().mapToLong(Delivery::lost).sum(),
                                    bad.stream().mapToLong(Delivery::duplicates).sum(),
                                    bad.stream().mapToLong(Delivery::mismatches).sum(),
                                    bad.stream().mapToLong(Delivery::violations).sum(),
                                    String.join("; ", parts)),
                    deliveries);
        }

        /** Requires that no other message arrived. */
        private void requireNothing() {
            progress().poll();
            long more = progress().receives() - taken;
            if (more != 0) {
                throw new AssertionError(
                        "%d unexpected messages to the group %s arrived".formatted(more, options.groupText()));
            }
        }

        // ---- internals ----

        private ProtectionDomain domain() {
            return domain;
        }

        private Progress progress() {
            return Objects.requireNonNull(progress, "no queues yet");
        }

        private MemoryRegion memory() {
            return Objects.requireNonNull(region, "no queues yet");
        }

        @Override
        public void close() {
            resources.close();
        }
    }
}
