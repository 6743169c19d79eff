package io.rdmatest.cm;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The calls of librdmacm, each with errno turned into an exception.
 *
 * <p>Nothing here checks its arguments: librdmacm follows null pointers in ids that have no device or no queue pair, so
 * callers check first.
 */
final class Rdmacm {

    private static final MethodHandle CREATE_CHANNEL =
            handle(rdma_h.rdma_create_event_channel$address(), rdma_h.rdma_create_event_channel$descriptor());
    private static final MethodHandle DESTROY_CHANNEL =
            handle(rdma_h.rdma_destroy_event_channel$address(), rdma_h.rdma_destroy_event_channel$descriptor());
    private static final MethodHandle CREATE_ID =
            handle(rdma_h.rdma_create_id$address(), rdma_h.rdma_create_id$descriptor());
    private static final MethodHandle DESTROY_ID =
            handle(rdma_h.rdma_destroy_id$address(), rdma_h.rdma_destroy_id$descriptor());
    private static final MethodHandle GET_EVENT =
            handle(rdma_h.rdma_get_cm_event$address(), rdma_h.rdma_get_cm_event$descriptor());
    private static final MethodHandle ACK_EVENT =
            handle(rdma_h.rdma_ack_cm_event$address(), rdma_h.rdma_ack_cm_event$descriptor());
    private static final MethodHandle BIND =
            handle(rdma_h.rdma_bind_addr$address(), rdma_h.rdma_bind_addr$descriptor());
    private static final MethodHandle LISTEN = handle(rdma_h.rdma_listen$address(), rdma_h.rdma_listen$descriptor());
    private static final MethodHandle RESOLVE_ADDRESS =
            handle(rdma_h.rdma_resolve_addr$address(), rdma_h.rdma_resolve_addr$descriptor());
    private static final MethodHandle RESOLVE_ROUTE =
            handle(rdma_h.rdma_resolve_route$address(), rdma_h.rdma_resolve_route$descriptor());
    private static final MethodHandle CREATE_QP =
            handle(rdma_h.rdma_create_qp_ex$address(), rdma_h.rdma_create_qp_ex$descriptor());
    private static final MethodHandle DESTROY_QP =
            handle(rdma_h.ibv_destroy_qp$address(), rdma_h.ibv_destroy_qp$descriptor());
    private static final MethodHandle CONNECT = handle(rdma_h.rdma_connect$address(), rdma_h.rdma_connect$descriptor());
    private static final MethodHandle ACCEPT = handle(rdma_h.rdma_accept$address(), rdma_h.rdma_accept$descriptor());
    private static final MethodHandle REJECT = handle(rdma_h.rdma_reject$address(), rdma_h.rdma_reject$descriptor());
    private static final MethodHandle DISCONNECT =
            handle(rdma_h.rdma_disconnect$address(), rdma_h.rdma_disconnect$descriptor());
    private static final MethodHandle LEAVE =
            handle(rdma_h.rdma_leave_multicast$address(), rdma_h.rdma_leave_multicast$descriptor());
    private static final MethodHandle JOIN =
            handle(rdma_h.rdma_join_multicast$address(), rdma_h.rdma_join_multicast$descriptor());
    private static final MethodHandle SET_OPTION =
            handle(rdma_h.rdma_set_option$address(), rdma_h.rdma_set_option$descriptor());
    private static final MethodHandle MIGRATE =
            handle(rdma_h.rdma_migrate_id$address(), rdma_h.rdma_migrate_id$descriptor());
    private static final MethodHandle GET_ADDRESS_INFO =
            handle(rdma_h.rdma_getaddrinfo$address(), rdma_h.rdma_getaddrinfo$descriptor());
    private static final MethodHandle FREE_ADDRESS_INFO =
            handle(rdma_h.rdma_freeaddrinfo$address(), rdma_h.rdma_freeaddrinfo$descriptor());
    /** Of the C library: explains what getaddrinfo(3), and so rdma_getaddrinfo, returns. */
    private static final MethodHandle GAI_STRERROR = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("gai_strerror"),
                    FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));

    private static final MethodHandle POLL = handle(rdma_h.poll$address(), rdma_h.poll$descriptor());

    // Younger than RDMACM_1.0. Their descriptors are written out: the generated ones would look the symbol up.
    private static final Optional<MethodHandle> JOIN_EX = Native.optional(
            "rdma_join_multicast_ex",
            FunctionDescriptor.of(rdma_h.C_INT, rdma_h.C_POINTER, rdma_h.C_POINTER, rdma_h.C_POINTER));
    private static final Optional<MethodHandle> ESTABLISH =
            Native.optional("rdma_establish", FunctionDescriptor.of(rdma_h.C_INT, rdma_h.C_POINTER));
    private static final Optional<MethodHandle> INIT_QP_ATTR = Native.optional(
            "rdma_init_qp_attr",
            FunctionDescriptor.of(rdma_h.C_INT, rdma_h.C_POINTER, rdma_h.C_POINTER, rdma_h.C_POINTER));

    /** An errno of the kernel's own, which lets it out to user space here. */
    private static final int ENOTSUPP = 524;

    /** Of getaddrinfo(3): errno tells what happened. */
    private static final int EAI_SYSTEM = -11;

    private Rdmacm() {}

    private static MethodHandle handle(MemorySegment address, FunctionDescriptor descriptor) {
        return Native.capturing(address, descriptor);
    }

    static MemorySegment createEventChannel() {
        try {
            MemorySegment channel = (MemorySegment) CREATE_CHANNEL.invokeExact(Native.errnoState());
            if (channel.address() == 0) {
                throw Native.failure("rdma_create_event_channel", "");
            }
            return channel;
        } catch (Throwable e) {
            throw Native.unchecked("rdma_create_event_channel", e);
        }
    }

    static void destroyEventChannel(MemorySegment channel) {
        try {
            DESTROY_CHANNEL.invokeExact(Native.errnoState(), channel);
        } catch (Throwable e) {
            throw Native.unchecked("rdma_destroy_event_channel", e);
        }
    }

    /** Makes the channel's file descriptor non-blocking. */
    static void makeNonBlocking(int fd) {
        int flags = rdma_h.fcntl.makeInvoker().apply(fd, rdma_h.F_GETFL());
        if (flags < 0
                || rdma_h.fcntl.makeInvoker(rdma_h.C_INT).apply(fd, rdma_h.F_SETFL(), flags | rdma_h.O_NONBLOCK())
                        < 0) {
            throw new RdmaException("fcntl", "event channel fd " + fd + ", O_NONBLOCK", 0);
        }
    }

    static void createId(MemorySegment channel, MemorySegment out, PortSpace portSpace) {
        try {
            check("rdma_create_id", portSpace::toString, (int)
                    CREATE_ID.invokeExact(Native.errnoState(), channel, out, MemorySegment.NULL, portSpace.value()));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_create_id", e);
        }
    }

    static void destroyId(MemorySegment id, Supplier<String> operands) {
        one(DESTROY_ID, "rdma_destroy_id", operands, id);
    }

    /** Gets the next event; returns false if there is none now. */
    static boolean getEvent(MemorySegment channel, MemorySegment out) {
        try {
            while (true) {
                int result = (int) GET_EVENT.invokeExact(Native.errnoState(), channel, out);
                if (result == 0) {
                    return true;
                }
                int errno = Native.errno();
                if (errno == rdma_h.EAGAIN()) {
                    return false;
                }
                if (errno != rdma_h.EINTR()) {
                    throw Native.failure("rdma_get_cm_event", "");
                }
            }
        } catch (Throwable e) {
            throw Native.unchecked("rdma_get_cm_event", e);
        }
    }

    static void ackEvent(MemorySegment event) {
        one(ACK_EVENT, "rdma_ack_cm_event", () -> "", event);
    }

    static void bind(MemorySegment id, MemorySegment address, Supplier<String> operands) {
        two(BIND, "rdma_bind_addr", operands, id, address);
    }

    static void listen(MemorySegment id, int backlog, Supplier<String> operands) {
        withInt(LISTEN, "rdma_listen", operands, id, backlog);
    }

    static void resolveAddress(
            MemorySegment id,
            MemorySegment source,
            MemorySegment target,
            int timeoutMillis,
            Supplier<String> operands) {
        try {
            check("rdma_resolve_addr", operands, (int)
                    RESOLVE_ADDRESS.invokeExact(Native.errnoState(), id, source, target, timeoutMillis));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_resolve_addr", e);
        }
    }

    static void resolveRoute(MemorySegment id, int timeoutMillis, Supplier<String> operands) {
        withInt(RESOLVE_ROUTE, "rdma_resolve_route", operands, id, timeoutMillis);
    }

    static void createQp(MemorySegment id, MemorySegment attributes, Supplier<String> operands) {
        two(CREATE_QP, "rdma_create_qp_ex", operands, id, attributes);
    }

    /** Destroys a queue pair by the call of libibverbs, whose result rdma_destroy_qp would throw away. */
    static void destroyQp(MemorySegment qp, Supplier<String> operands) {
        try {
            int errno = (int) DESTROY_QP.invokeExact(Native.errnoState(), qp);
            if (errno != 0) {
                throw new RdmaException("ibv_destroy_qp", operands.get(), errno);
            }
        } catch (Throwable e) {
            throw Native.unchecked("ibv_destroy_qp", e);
        }
    }

    static void initQpAttributes(
            MemorySegment id, MemorySegment attributes, MemorySegment mask, Supplier<String> operands) {
        three(younger(INIT_QP_ATTR, "rdma_init_qp_attr", 23), "rdma_init_qp_attr", operands, id, attributes, mask);
    }

    static void connect(MemorySegment id, MemorySegment parameters, Supplier<String> operands) {
        two(CONNECT, "rdma_connect", operands, id, parameters);
    }

    static void accept(MemorySegment id, MemorySegment parameters, Supplier<String> operands) {
        two(ACCEPT, "rdma_accept", operands, id, parameters);
    }

    static void reject(MemorySegment id, MemorySegment data, int length, Supplier<String> operands) {
        try {
            check("rdma_reject", operands, (int) REJECT.invokeExact(Native.errnoState(), id, data, (byte) length));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_reject", e);
        }
    }

    static void establish(MemorySegment id, Supplier<String> operands) {
        one(younger(ESTABLISH, "rdma_establish", 23), "rdma_establish", operands, id);
    }

    static void disconnect(MemorySegment id, Supplier<String> operands) {
        one(DISCONNECT, "rdma_disconnect", operands, id);
    }

    static boolean hasJoinEx() {
        return JOIN_EX.isPresent();
    }

    static void joinEx(MemorySegment id, MemorySegment attributes, MemorySegment token, Supplier<String> operands) {
        three(
                younger(JOIN_EX, "rdma_join_multicast_ex", 16),
                "rdma_join_multicast_ex",
                operands,
                id,
                attributes,
                token);
    }

    static void join(MemorySegment id, MemorySegment address, MemorySegment token, Supplier<String> operands) {
        three(JOIN, "rdma_join_multicast", operands, id, address, token);
    }

    static void leave(MemorySegment id, MemorySegment address, Supplier<String> operands) {
        two(LEAVE, "rdma_leave_multicast", operands, id, address);
    }

    static void setOption(MemorySegment id, int option, MemorySegment value, Supplier<String> operands) {
        try {
            check("rdma_set_option", operands, (int) SET_OPTION.invokeExact(
                    Native.errnoState(), id, rdma_h.RDMA_OPTION_ID(), option, value, value.byteSize()));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_set_option", e);
        }
    }

    static void migrate(MemorySegment id, MemorySegment channel, Supplier<String> operands) {
        two(MIGRATE, "rdma_migrate_id", operands, id, channel);
    }

    /** Waits for readability; an interrupted call counts as an empty one. */
    static void poll(MemorySegment pollfd, int millis) {
        try {
            int result = (int) POLL.invokeExact(Native.errnoState(), pollfd, 1L, millis);
            if (result < 0 && Native.errno() != rdma_h.EINTR()) {
                throw Native.failure("poll", "event channel");
            }
        } catch (Throwable e) {
            throw Native.unchecked("poll", e);
        }
    }

    static void getAddressInfo(
            MemorySegment node, MemorySegment service, MemorySegment hints, MemorySegment out, String operands) {
        try {
            int result = (int) GET_ADDRESS_INFO.invokeExact(Native.errnoState(), node, service, hints, out);
            if (result == 0) {
                return;
            }
            // The codes of getaddrinfo are negative; newer releases leave them in errno.
            int code = result < -1 ? result : Native.errno();
            if (code == EAI_SYSTEM) {
                code = Native.errno();
            }
            if (code >= 0) {
                throw new RdmaException("rdma_getaddrinfo", operands, code);
            }
            MemorySegment text = (MemorySegment) GAI_STRERROR.invokeExact(code);
            throw new RdmaException("rdma_getaddrinfo(" + operands + ") failed: " + Native.string(text, 256)
                    + ". Give an address or a name that 'getent ahosts' finds, in the format that was asked for.");
        } catch (Throwable e) {
            throw Native.unchecked("rdma_getaddrinfo", e);
        }
    }

    static void freeAddressInfo(MemorySegment answers) {
        try {
            FREE_ADDRESS_INFO.invokeExact(Native.errnoState(), answers);
        } catch (Throwable e) {
            throw Native.unchecked("rdma_freeaddrinfo", e);
        }
    }

    private static MethodHandle younger(Optional<MethodHandle> handle, String call, int release) {
        return handle.orElseThrow(() -> new RdmaException("the installed librdmacm has no " + call
                + ": it came with rdma-core " + release + "; install that release or a later one"));
    }

    private static void one(MethodHandle handle, String call, Supplier<String> operands, MemorySegment a) {
        try {
            check(call, operands, (int) handle.invokeExact(Native.errnoState(), a));
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
    }

    private static void two(
            MethodHandle handle, String call, Supplier<String> operands, MemorySegment a, MemorySegment b) {
        try {
            check(call, operands, (int) handle.invokeExact(Native.errnoState(), a, b));
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
    }

    private static void three(
            MethodHandle handle,
            String call,
            Supplier<String> operands,
            MemorySegment a,
            MemorySegment b,
            MemorySegment c) {
        try {
            check(call, operands, (int) handle.invokeExact(Native.errnoState(), a, b, c));
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
    }

    private static void withInt(MethodHandle handle, String call, Supplier<String> operands, MemorySegment a, int b) {
        try {
            check(call, operands, (int) handle.invokeExact(Native.errnoState(), a, b));
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
    }

    private static void check(String call, Supplier<String> operands, int result) {
        if (result != 0) {
            int errno = Native.errno();
            String cure = errno == rdma_h.EINVAL() ? wrongState(call) : errno == ENOTSUPP ? notSupported(call) : "";
            throw cure.isEmpty()
                    ? new RdmaException(call, operands.get(), errno)
                    : new RdmaException(call, operands.get(), errno, cure);
        }
    }

    private static String notSupported(String call) {
        return call.startsWith("rdma_join_multicast")
                ? "The kernel joins groups on RoCE v2 by their IPv4 address only: use 224.0.0.0/4 or ::ffff:a.b.c.d."
                : "The kernel does not support this.";
    }

    /** Says what EINVAL of a call usually means: nearly always a step that was left out or done twice. */
    private static String wrongState(String call) {
        return switch (call) {
            case "rdma_bind_addr" ->
                "The id is bound already, or the address is of a family that the kernel can't use.";
            case "rdma_resolve_addr" -> "The id is resolved, listening or connected already.";
            case "rdma_resolve_route" -> "The route can be resolved once, after the address.";
            case "rdma_listen" -> "The id must be bound, and neither listening nor connected.";
            case "rdma_connect" ->
                "Connecting needs a resolved route, an id that is not connected yet, and depths within the device's limits.";
            case "rdma_accept" ->
                "Accepting needs the id of a connection request that is not answered yet, and depths within the device's"
                        + " limits.";
            case "rdma_reject" -> "Only the id of a connection request that is not answered yet can be rejected.";
            case "rdma_establish" ->
                "Only an id without a queue pair of its own, after CONNECT_RESPONSE, can be established.";
            case "rdma_disconnect" -> "The id is not connected.";
            case "rdma_init_qp_attr" ->
                "The state's attributes are known only after the step that yields them: INIT after the address is resolved,"
                        + " RTR and RTS after CONNECT_REQUEST or CONNECT_RESPONSE.";
            case "rdma_join_multicast", "rdma_join_multicast_ex" ->
                "Joining needs an id of a datagram port space that is bound or resolved to a device.";
            default -> "";
        };
    }
}
