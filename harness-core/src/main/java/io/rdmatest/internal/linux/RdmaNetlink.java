package io.rdmatest.internal.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.internal.Libc;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Queries the kernel's RDMA subsystem over a netlink socket (netlink(7), rdma/rdma_netlink.h), as the {@code rdma} tool
 * does. The numbers are part of the kernel's ABI.
 *
 * <p>For one thread.
 */
public final class RdmaNetlink implements AutoCloseable {

    /** An attribute of an answer; its value may be nested attributes. */
    public record Attribute(int type, ByteBuffer value) {

        /** Returns the value as a number: unsigned 32 bits, or 64 bits if it has that length. */
        public long number() {
            return value.remaining() >= Long.BYTES
                    ? value.getLong(value.position())
                    : Integer.toUnsignedLong(value.getInt(value.position()));
        }

        /** Returns the value as a text. */
        public String text() {
            byte[] bytes = new byte[value.remaining()];
            value.get(value.position(), bytes);
            int length = 0;
            while (length < bytes.length && bytes[length] != 0) {
                length++;
            }
            return new String(bytes, 0, length, StandardCharsets.UTF_8);
        }

        /** Returns the nested attributes, in order. */
        public List<Attribute> nested() {
            return attributes(value);
        }

        /** Returns the nested attributes by type; the last one of a type counts. */
        public Map<Integer, Attribute> byType() {
            return index(nested());
        }
    }

    private static final int AF_NETLINK = 16;
    private static final int NETLINK_RDMA = 20;
    private static final int NLDEV = 5 << 10;
    private static final int REQUEST = 1;
    private static final int DUMP = 0x300;
    private static final int ERROR = 2;
    private static final int DONE = 3;
    private static final int TYPE_MASK = 0x3fff;
    private static final int HEADER = 16;
    /** The kernel splits an answer into messages of at most 32 KiB. */
    private static final int BUFFER = 1 << 15;

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment buffer = arena.allocate(BUFFER, 8);
    private final MemorySegment pollfd = arena.allocate(8, 4);
    private final int fd;
    private int sequence;

    private RdmaNetlink(int fd) {
        this.fd = fd;
    }

    /**
     * Opens a socket.
     *
     * @throws RdmaException EPROTONOSUPPORT if the kernel has no RDMA subsystem
     */
    public static RdmaNetlink open() {
        int fd = Libc.socket(AF_NETLINK, Libc.SOCK_RAW | Libc.O_CLOEXEC, NETLINK_RDMA);
        if (fd < 0) {
            throw NativeCalls.failure("socket", "AF_NETLINK, NETLINK_RDMA");
        }
        return new RdmaNetlink(fd);
    }

    /**
     * Requests a list.
     *
     * @param command one of RDMA_NLDEV_CMD_*
     * @param numbers type and value of the 32-bit attributes to send, in turn
     * @return the attributes of each message of the answer
     * @throws RdmaException if the kernel refuses
     */
    public List<List<Attribute>> dump(int command, int... numbers) {
        return ask(command, DUMP, numbers);
    }

    /**
     * Requests a single object.
     *
     * @param command one of RDMA_NLDEV_CMD_*
     * @param numbers type and value of the 32-bit attributes to send, in turn
     * @return the attributes of the answer
     * @throws RdmaException if the kernel refuses
     */
    public List<Attribute> get(int command, int... numbers) {
        return ask(command, 0, numbers).getFirst();
    }

    private List<List<Attribute>> ask(int command, int flags, int... numbers) {
        String operands = "NETLINK_RDMA, command " + command;
        sequence++;
        send(command, flags, operands, numbers);
        List<List<Attribute>> answer = new ArrayList<>();
        Deadline deadline = Deadline.after(PATIENCE);
        while (true) {
            ByteBuffer received = receive(operands, deadline);
            while (received.remaining() >= HEADER) {
                int begin = received.position();
                int length = received.getInt(begin);
                int type = Short.toUnsignedInt(received.getShort(begin + 4));
                if (length < HEADER || length > received.remaining()) {
                    throw new RdmaException(
                            operands + ": a message of " + length + " bytes is truncated to " + received.remaining());
                }
                boolean mine = received.getInt(begin + 8) == sequence;
                ByteBuffer body = slice(received, begin + HEADER, length - HEADER);
                received.position(Math.min(received.limit(), begin + align(length)));
                if (!mine) {
                    continue;
                }
                if (type == ERROR || type == DONE && body.remaining() >= Integer.BYTES) {
                    int error = body.getInt(0);
                    if (error != 0) {
                        throw new RdmaException("send", operands, -error);
                    }
                }
                if (type == DONE) {
                    return answer;
                }
                if (type != ERROR) {
                    answer.add(attributes(body));
                    if (flags != DUMP) {
                        return answer;
                    }
                }
            }
        }
    }

    private void send(int command, int flags, String operands, int... numbers) {
        int length = HEADER + numbers.length / 2 * 8;
        ByteBuffer message = buffer.asByteBuffer().order(ByteOrder.nativeOrder());
        message.putInt(length)
                .putShort((short) (NLDEV + command))
                .putShort((short) (REQUEST | flags))
                .putInt(sequence)
                .putInt(0);
        for (int i = 0; i < numbers.length; i += 2) {
            message.putShort((short) 8).putShort((short) numbers[i]).putInt(numbers[i + 1]);
        }
        if (Libc.send(fd, buffer, length, 0) < 0) {
            throw NativeCalls.failure("send", operands);
        }
    }

    private ByteBuffer receive(String operands, Deadline deadline) {
        while (true) {
            long received = Libc.recv(fd, buffer, BUFFER, Libc.MSG_DONTWAIT);
            if (received >= 0) {
                return buffer.asSlice(0, received).asByteBuffer().order(ByteOrder.nativeOrder());
            }
            int errno = Native.errno();
            if (errno != Libc.EAGAIN && errno != Libc.EINTR) {
                throw NativeCalls.failure("recv", operands);
            }
            if (deadline.isOver()) {
                throw new RdmaException(operands + ": the kernel did not answer within " + PATIENCE.toSeconds() + " s");
            }
            pollfd.set(JAVA_INT, 0, fd);
            pollfd.set(JAVA_INT, 4, Libc.POLLIN);
            int ignored = Libc.poll(pollfd, 1, deadline.millis((int) PATIENCE.toMillis()));
        }
    }

    private static List<Attribute> attributes(ByteBuffer value) {
        List<Attribute> found = new ArrayList<>();
        int at = value.position();
        while (value.limit() - at >= 4) {
            int length = Short.toUnsignedInt(value.getShort(at));
            if (length < 4 || length > value.limit() - at) {
                break;
            }
            int type = Short.toUnsignedInt(value.getShort(at + 2)) & TYPE_MASK;
            // A copy: the next answer overwrites the buffer.
            ByteBuffer own = ByteBuffer.allocate(length - 4).order(ByteOrder.nativeOrder());
            own.put(0, value, at + 4, length - 4);
            found.add(new Attribute(type, own));
            at += align(length);
        }
        return found;
    }

    /**
     * Returns attributes by type; the last one of a type counts.
     *
     * @param attributes in order
     */
    public static Map<Integer, Attribute> index(List<Attribute> attributes) {
        Map<Integer, Attribute> byType = HashMap.newHashMap(attributes.size());
        attributes.forEach(attribute -> byType.put(attribute.type(), attribute));
        return byType;
    }

    private static ByteBuffer slice(ByteBuffer buffer, int from, int length) {
        return buffer.slice(from, length).order(ByteOrder.nativeOrder());
    }

    private static int align(int length) {
        return (length + 3) & ~3;
    }

    @Override
    public void close() {
        int ignored = Libc.close(fd);
        arena.close();
    }
}
