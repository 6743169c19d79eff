package io.rdmatest.scenarios.role;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.JoinFlag;
import io.rdmatest.cm.MulticastMembership;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SendFlag;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The sides of mckey(1): a sender and receivers of a multicast group, over UD queue pairs of rdma_cm.
 *
 * <p>Nothing on the wire says when a receiver has joined, so they tell: {@code joined}, {@code left}. Messages carry a
 * number as their data; a receiver verifies that, the sender's queue pair number (twice: the immediate data and the
 * completion), and the length.
 */
public final class MulticastRoles {

    /** What precedes the payload of every datagram, in bytes (ibv_poll_cq(3)). */
    public static final int GRH = 40;

    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};

    private MulticastRoles() {}

    /**
     * Joins a group and sends to it, one batch for every message "send FIRST COUNT", until it is told "end".
     *
     * @param group the group
     * @param size bytes of a message, at most the port's MTU
     * @param flag how to join
     * @param timeout how long to wait for any one step
     */
    public record Sender(InetAddress group, int size, JoinFlag flag, Duration timeout) implements Role<Integer> {

        /** Returns the number of messages sent. */
        @Override
        public Integer run(RoleContext context) {
            try (Member member = new Member(context, group, 1, size, timeout)) {
                member.join(group, flag, timeout);
                try (AddressHandle handle =
                        member.domain.createAddressHandle(member.membership().address())) {
                    context.tell("joined " + member.queuePair.number());
                    int sent = 0;
                    while (true) {
                        String[] order =
                                context.hear("order to the sender", timeout).split(" ", -1);
                        if (order[0].equals("end")) {
                            return sent;
                        }
                        int first = Integer.parseInt(order[1]);
                        int count = Integer.parseInt(order[2]);
                        for (int i = 0; i < count; i++) {
                            Payload.fill(member.buffer.bytes().asSlice(0, size), first + i);
                            member.queuePair.postSendWithImmediate(
                                    i,
                                    member.buffer,
                                    0,
                                    size,
                                    handle,
                                    member.membership().qpNumber(),
                                    member.membership().qkey(),
                                    member.queuePair.number(),
                                    SIGNALED);
                            member.progress.awaitSends(++sent);
                        }
                        context.tell("sent");
                    }
                }
            }
        }
    }

    /**
     * The results of a receiver.
     *
     * @param messages messages that arrived
     * @param bytesVerified bytes of them that were compared
     */
    public record Received(int messages, long bytesVerified) {}

    /**
     * Joins a group, and for every message "expect SENDER FIRST COUNT" receives a batch and says "received"; so it does for
     * "any COUNT", whose data is not known. On "leave" it leaves; on "end" it verifies that nothing else came.
     *
     * @param group the group
     * @param capacity receives to post: at least all messages that can arrive
     * @param size bytes of a message
     * @param timeout how long to wait for any one step
     */
    public record Receiver(InetAddress group, int capacity, int size, Duration timeout) implements Role<Received> {

        @Override
        public Received run(RoleContext context) {
            int slot = GRH + size;
            try (Member member = new Member(context, group, capacity, size, timeout)) {
                for (int i = 0; i < capacity; i++) {
                    member.queuePair.postReceive(i | Progress.RECEIVE, member.buffer, (long) i * slot, slot);
                }
                member.join(group, JoinFlag.FULL_MEMBER, timeout);
                context.tell("joined");
                int received = 0;
                long verified = 0;
                while (true) {
                    String[] order =
                            context.hear("order to the receiver", timeout).split(" ", -1);
                    switch (order[0]) {
                        case "expect" -> {
                            int sender = Integer.parseInt(order[1]);
                            int first = Integer.parseInt(order[2]);
                            int count = Integer.parseInt(order[3]);
                            for (int i = 0; i < count; i++) {
                                receive(member, sender, first + i);
                                received++;
                                verified += size;
                            }
                            context.tell("received");
                        }
                        case "any" -> {
                            int count = Integer.parseInt(order[1]);
                            for (int i = 0; i < count; i++) {
                                receiveAny(member);
                                received++;
                            }
                            context.tell("received");
                        }
                        case "leave" -> {
                            member.leave();
                            context.tell("left");
                        }
                        default -> {
                            member.requireNothing();
                            return new Received(received, verified);
                        }
                    }
                }
            }
        }

        private void receive(Member member, int sender, int message) {
            Progress progress = await(member, "multicast message " + message);
            Payload.verify(
                    member.buffer.bytes().asSlice(progress.wrId() * (GRH + size) + GRH, size),
                    message,
                    "multicast receiver of " + group.getHostAddress());
            if (!progress.hasImmediate() || progress.immediate() != sender || progress.sourceQp() != sender) {
                throw new AssertionError("Multicast message %d is of QP %d with immediate data %s; the sender is QP %d"
                        .formatted(
                                message,
                                progress.sourceQp(),
                                progress.hasImmediate() ? progress.immediate() : "none",
                                sender));
            }
        }

        /** Of mckey(1) only the length and the number of the queue pair are known. */
        private void receiveAny(Member member) {
            Progress progress = await(member, "multicast message");
            if (!progress.hasImmediate() || progress.immediate() != progress.sourceQp()) {
                throw new AssertionError("A multicast message is of QP %d with immediate data %s"
                        .formatted(progress.sourceQp(), progress.hasImmediate() ? progress.immediate() : "none"));
            }
        }

        private Progress await(Member member, String what) {
            Progress progress = member.progress;
            progress.awaitReceive(what + " of group " + group.getHostAddress());
            if (progress.byteLength() != GRH + size) {
                throw new AssertionError("%s has %d bytes instead of %d and %d of GRH"
                        .formatted(what, progress.byteLength(), size, GRH));
            }
            return progress;
        }
    }

    private static final class Member implements AutoCloseable {

        private final EventChannel channel;
        private final CmId id;
        private final ProtectionDomain domain;
        private final CompletionQueue queue;
        private final QueuePair queuePair;
        private final MemoryRegion buffer;
        private final Progress progress;
        private final ArrayDeque<AutoCloseable> resources = new ArrayDeque<>();
        private @Nullable MulticastMembership membership;

        private Member(RoleContext context, InetAddress group, int capacity, int size, Duration timeout) {
            try {
                channel = own(EventChannel.create());
                id = own(channel.createId(PortSpace.UDP));
                InetAddress source = Addresses.ofFamily(context.device(), group);
                id.resolveAddress(source, new InetSocketAddress(group, 0), RcLink.RESOLVE);
                int mtu = id.context().port(id.port()).activeMtu().bytes();
                if (size > mtu) {
                    throw new IllegalArgumentException(
                            "A datagram of %d bytes exceeds the port's MTU of %d".formatted(size, mtu));
                }
                domain = own(id.context().allocateProtectionDomain());
                queue = own(id.context().createCompletionQueue(2 * capacity + 2));
                queuePair = own(id.createQueuePair(
                        domain,
                        QueuePairAttributes.builder(QpType.UD)
                                .completionQueue(queue)
                                .maxSendWr(Math.max(1, capacity))
                                .maxReceiveWr(Math.max(1, capacity))
                                .build()));
                buffer = own(domain.registerMemory((long) capacity * (GRH + size), Access.LOCAL_WRITE));
                progress = new Progress(context, queue, null, capacity, timeout);
            } catch (RuntimeException e) {
                closeAfter(e);
                throw e;
            }
        }

        private <T extends AutoCloseable> T own(T resource) {
            resources.push(resource);
            return resource;
        }

        private void join(InetAddress group, JoinFlag flag, Duration timeout) {
            membership = id.joinMulticast(group, flag, timeout);
        }

        private MulticastMembership membership() {
            MulticastMembership present = membership;
            if (present == null) {
                throw new IllegalStateException("Not a member of the group");
            }
            return present;
        }

        private void leave() {
            membership().close();
            membership = null;
        }

        private void requireNothing() {
            long before = progress.receives();
            progress.poll();
            if (progress.receives() != before) {
                throw new AssertionError("%d multicast messages arrived that were not for this receiver"
                        .formatted(progress.receives() - before));
            }
        }

        private void closeAfter(RuntimeException failure) {
            try {
                close();
            } catch (RuntimeException e) {
                failure.addSuppressed(e);
            }
        }

        @Override
        public void close() {
            RuntimeException first = null;
            MulticastMembership present = membership;
            if (present != null) {
                membership = null;
                resources.push(present);
            }
            while (!resources.isEmpty()) {
                try {
                    resources.pop().close();
                } catch (Exception e) {
                    first = first != null ? first : e instanceof RuntimeException r ? r : new IllegalStateException(e);
                }
            }
            if (first != null) {
                throw first;
            }
        }
    }
}
