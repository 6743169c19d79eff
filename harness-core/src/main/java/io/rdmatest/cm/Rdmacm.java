package io.rdmatest.cm;

import static io.rdmatest.ffi.rdma_h.C_POINTER;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.SharedSecrets;
import io.rdmatest.internal.linux.ManagerFile;
import io.rdmatest.internal.linux.NativeCalls;
import io.rdmatest.verbs.VerbsBridge;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/**
 * The calls of librdmacm, with errno converted to an exception.
 *
 * <p>Arguments are not checked here. librdmacm dereferences null pointers of ids without a device or a queue pair, so
 * callers must check first.
 */
final class Rdmacm {

    static final VerbsBridge VERBS = SharedSecrets.of(VerbsBridge.class);

    private static final Downcall CREATE_CHANNEL = Downcall.of("rdma_create_event_channel", C_POINTER);
    private static final Downcall DESTROY_CHANNEL = Downcall.ofVoid("rdma_destroy_event_channel", C_POINTER);
    private static final Downcall CREATE_ID =
            Downcall.of("rdma_create_id", JAVA_INT, C_POINTER, C_POINTER, C_POINTER, JAVA_INT);
    private static final Downcall DESTROY_ID = Downcall.of("rdma_destroy_id", JAVA_INT, C_POINTER);
    private static final Downcall GET_EVENT = Downcall.of("rdma_get_cm_event", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall ACK_EVENT = Downcall.of("rdma_ack_cm_event", JAVA_INT, C_POINTER);
    private static final Downcall BIND = Downcall.of("rdma_bind_addr", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall LISTEN = Downcall.of("rdma_listen", JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall RESOLVE_ADDRESS =
            Downcall.of("rdma_resolve_addr", JAVA_INT, C_POINTER, C_POINTER, C_POINTER, JAVA_INT);
    private static final Downcall RESOLVE_ROUTE = Downcall.of("rdma_resolve_route", JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall CREATE_QP = Downcall.of("rdma_create_qp_ex", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall DESTROY_QP = Downcall.of("ibv_destroy_qp", JAVA_INT, C_POINTER);
    private static final Downcall CONNECT = Downcall.of("rdma_connect", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall ACCEPT = Downcall.of("rdma_accept", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall REJECT = Downcall.of("rdma_reject", JAVA_INT, C_POINTER, C_POINTER, JAVA_BYTE);
    private static final Downcall DISCONNECT = Downcall.of("rdma_disconnect", JAVA_INT, C_POINTER);
    private static final Downcall LEAVE = Downcall.of("rdma_leave_multicast", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall JOIN = Downcall.of("rdma_join_multicast", JAVA_INT, C_POINTER, C_POINTER, C_POINTER);
    private static final Downcall SET_OPTION =
            Downcall.of("rdma_set_option", JAVA_INT, C_POINTER, JAVA_INT, JAVA_INT, C_POINTER, JAVA_LONG);
    private static final Downcall MIGRATE = Downcall.of("rdma_migrate_id", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall GET_ADDRESS_INFO =
            Downcall.of("rdma_getaddrinfo", JAVA_INT, C_POINTER, C_POINTER, C_POINTER, C_POINTER);
    private static final Downcall FREE_ADDRESS_INFO = Downcall.ofVoid("rdma_freeaddrinfo", C_POINTER);
    /** A function of the C library. It explains the result of getaddrinfo(3), and so of rdma_getaddrinfo. */
    private static final Downcall GAI_STRERROR = Downcall.of("gai_strerror", C_POINTER, JAVA_INT);

    // Added after RDMACM_1.0.
    private static final Downcall JOIN_EX =
            Downcall.of("rdma_join_multicast_ex", JAVA_INT, C_POINTER, C_POINTER, C_POINTER);
    private static final Downcall ESTABLISH = Downcall.of("rdma_establish", JAVA_INT, C_POINTER);
    private static final Downcall SET_LOCAL_ECE = Downcall.of("rdma_set_local_ece", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall GET_REMOTE_ECE = Downcall.of("rdma_get_remote_ece", JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall INIT_QP_ATTR =
            Downcall.of("rdma_init_qp_attr", JAVA_INT, C_POINTER, C_POINTER, C_POINTER);

    /** A kernel-internal errno that reaches user space here. */
    private static final int ENOTSUPP = 524;

    /** A result of getaddrinfo(3): errno has the reason. */
    private static final int EAI_SYSTEM = -11;

    private Rdmacm() {}

    static MemorySegment createEventChannel() {
        try {
            MemorySegment channel = (MemorySegment) CREATE_CHANNEL.handle().invokeExact(Native.errnoState());
            if (channel.address() == 0) {
                throw ManagerFile.failure("rdma_create_event_channel", "");
            }
            return channel;
        } catch (Throwable e) {
            throw Native.unchecked("rdma_create_event_channel", e);
        }
    }

    static void destroyEventChannel(MemorySegment channel) {
        try {
            DESTROY_CHANNEL.handle().invokeExact(Native.errnoState(), channel);
        } catch (Throwable e) {
            throw Native.unchecked("rdma_destroy_event_channel", e);
        }
    }

    static void createId(MemorySegment channel, MemorySegment out, PortSpace portSpace) {
        try {
            check("rdma_create_id", portSpace::toString, (int) CREATE_ID
                    .handle()
                    .invokeExact(Native.errnoState(), channel, out, MemorySegment.NULL, portSpace.value()));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_create_id", e);
        }
    }

    /** Destroys an id. An id that disappeared with its device counts as destroyed. */
    static void destroyId(MemorySegment id, Supplier<String> operands) {
        try {
            int result = (int) DESTROY_ID.handle().invokeExact(Native.errnoState(), id);
            if (result != 0 && !Errno.isReleasedWithDevice(Native.errno())) {
                throw new RdmaException("rdma_destroy_id", operands.get(), Native.errno());
            }
        } catch (Throwable e) {
            throw Native.unchecked("rdma_destroy_id", e);
        }
    }

    /** Gets the next event; returns false if there is none now. */
    static boolean getEvent(MemorySegment channel, MemorySegment out) {
        try {
            while (true) {
                int result = (int) GET_EVENT.handle().invokeExact(Native.errnoState(), channel, out);
                if (result == 0) {
                    return true;
                }
                int errno = Native.errno();
                if (errno == rdma_h.EAGAIN()) {
                    return false;
                }
                if (errno != rdma_h.EINTR()) {
                    throw NativeCalls.failure("rdma_get_cm_event", "");
                }
            }
        } catch (Throwable e) {
            throw Native.unchecked("rdma_get_cm_event", e);
        }
    }

    static void ackEvent(MemorySegment event) {
        one(ACK_EVENT, () -> "", event);
    }

    static void bind(MemorySegment id, MemorySegment address, Supplier<String> operands) {
        two(BIND, operands, id, address);
    }

    static void listen(MemorySegment id, int backlog, Supplier<String> operands) {
        withInt(LISTEN, operands, id, backlog);
    }

    static void resolveAddress(
            MemorySegment id,
            MemorySegment source,
            MemorySegment target,
            int timeoutMillis,
            Supplier<String> operands) {
        try {
            check("rdma_resolve_addr", operands, (int)
                    RESOLVE_ADDRESS.handle().invokeExact(Native.errnoState(), id, source, target, timeoutMillis));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_resolve_addr", e);
        }
    }

    static void resolveRoute(MemorySegment id, int timeoutMillis, Supplier<String> operands) {
        withInt(RESOLVE_ROUTE, operands, id, timeoutMillis);
    }

    static void createQp(MemorySegment id, MemorySegment attributes, Supplier<String> operands) {
        two(CREATE_QP, operands, id, attributes);
    }

    /**
     * Destroys a queue pair by libibverbs, since rdma_destroy_qp does not return the result. A queue pair that disappeared with
     * its device counts as destroyed.
     */
    static void destroyQp(MemorySegment qp, Supplier<String> operands) {
        try {
            int errno = (int) DESTROY_QP.handle().invokeExact(Native.errnoState(), qp);
            if (errno != 0 && !Errno.isReleasedWithDevice(errno)) {
                throw new RdmaException("ibv_destroy_qp", operands.get(), errno);
            }
        } catch (Throwable e) {
            throw Native.unchecked("ibv_destroy_qp", e);
        }
    }

    static void initQpAttributes(
            MemorySegment id, MemorySegment attributes, MemorySegment mask, Supplier<String> operands) {
        three(younger(INIT_QP_ATTR, 23), operands, id, attributes, mask);
    }

    static void connect(MemorySegment id, MemorySegment parameters, Supplier<String> operands) {
        two(CONNECT, operands, id, parameters);
    }

    static void accept(MemorySegment id, MemorySegment parameters, Supplier<String> operands) {
        two(ACCEPT, operands, id, parameters);
    }

    static void reject(MemorySegment id, MemorySegment data, int length, Supplier<String> operands) {
        try {
            check("rdma_reject", operands, (int)
                    REJECT.handle().invokeExact(Native.errnoState(), id, data, (byte) length));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_reject", e);
        }
    }

    static void establish(MemorySegment id, Supplier<String> operands) {
        one(younger(ESTABLISH, 23), operands, id);
    }

    static void disconnect(MemorySegment id, Supplier<String> operands) {
        one(DISCONNECT, operands, id);
    }

    static boolean hasJoinEx() {
        return JOIN_EX.isPresent();
    }

    static void joinEx(MemorySegment id, MemorySegment attributes, MemorySegment token, Supplier<String> operands) {
        three(younger(JOIN_EX, 16), operands, id, attributes, token);
    }

    static void join(MemorySegment id, MemorySegment address, MemorySegment token, Supplier<String> operands) {
        three(JOIN, operands, id, address, token);
    }

    static void leave(MemorySegment id, MemorySegment address, Supplier<String> operands) {
        two(LEAVE, operands, id, address);
    }

    static void setOption(MemorySegment id, int option, MemorySegment value, Supplier<String> operands) {
        try {
            check("rdma_set_option", operands, (int) SET_OPTION
                    .handle()
                    .invokeExact(Native.errnoState(), id, rdma_h.RDMA_OPTION_ID(), option, value, value.byteSize()));
        } catch (Throwable e) {
            throw Native.unchecked("rdma_set_option", e);
        }
    }

    static void setLocalEce(MemorySegment id, MemorySegment ece, Supplier<String> operands) {
        two(SET_LOCAL_ECE, operands, id, ece);
    }

    static void getRemoteEce(MemorySegment id, MemorySegment ece, Supplier<String> operands) {
        two(GET_REMOTE_ECE, operands, id, ece);
    }

    static void migrate(MemorySegment id, MemorySegment channel, Supplier<String> operands) {
        two(MIGRATE, operands, id, channel);
    }

    static void getAddressInfo(
            MemorySegment node, MemorySegment service, MemorySegment hints, MemorySegment out, String operands) {
        try {
            int result = (int) GET_ADDRESS_INFO.handle().invokeExact(Native.errnoState(), node, service, hints, out);
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
            MemorySegment text = (MemorySegment) GAI_STRERROR.handle().invokeExact(Native.errnoState(), code);
            throw new RdmaException(
                    Cause.UNKNOWN_HOST,
                    "rdma_getaddrinfo(" + operands + ") failed: " + Native.string(text, 256)
                            + ". Give an address or a name that 'getent ahosts' finds, in the requested format.");
        } catch (Throwable e) {
            throw Native.unchecked("rdma_getaddrinfo", e);
        }
    }

    static void freeAddressInfo(MemorySegment answers) {
        try {
            FREE_ADDRESS_INFO.handle().invokeExact(Native.errnoState(), answers);
        } catch (Throwable e) {
            throw Native.unchecked("rdma_freeaddrinfo", e);
        }
    }

    private static Downcall younger(Downcall call, int release) {
        if (!call.isPresent()) {
            throw new RdmaException(
                    Cause.UNSUPPORTED,
                    "the installed librdmacm has no " + call.function() + ": it needs rdma-core " + release
                            + " or later; install that");
        }
        return call;
    }

    private static void one(Downcall call, Supplier<String> operands, MemorySegment a) {
        try {
            check(call.function(), operands, (int) call.handle().invokeExact(Native.errnoState(), a));
        } catch (Throwable e) {
            throw Native.unchecked(call.function(), e);
        }
    }

    private static void two(Downcall call, Supplier<String> operands, MemorySegment a, MemorySegment b) {
        try {
            check(call.function(), operands, (int) call.handle().invokeExact(Native.errnoState(), a, b));
        } catch (Throwable e) {
            throw Native.unchecked(call.function(), e);
        }
    }

    private static void three(
            Downcall call, Supplier<String> operands, MemorySegment a, MemorySegment b, MemorySegment c) {
        try {
            check(call.function(), operands, (int) call.handle().invokeExact(Native.errnoState(), a, b, c));
        } catch (Throwable e) {
            throw Native.unchecked(call.function(), e);
        }
    }

    private static void withInt(Downcall call, Supplier<String> operands, MemorySegment a, int b) {
        try {
            check(call.function(), operands, (int) call.handle().invokeExact(Native.errnoState(), a, b));
        } catch (Throwable e) {
            throw Native.unchecked(call.function(), e);
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

    /** Returns the usual meaning of EINVAL: nearly always a step that was left out or done twice. */
    private static String wrongState(String call) {
        return switch (call) {
            case "rdma_bind_addr" -> "The id is already bound, or the kernel does not support the address family.";
            case "rdma_resolve_addr" -> "The id is already resolved, listening or connected.";
            case "rdma_resolve_route" -> "The route can be resolved once, after the address.";
            case "rdma_listen" -> "The id must be bound, and neither listening nor connected.";
            case "rdma_connect" ->
                "Connecting needs a resolved route, an id that is not connected yet, and depths within the device's limits.";
            case "rdma_accept" ->
                "Accepting needs the id of an unanswered connection request, and depths within the device's limits.";
            case "rdma_reject" -> "Only the id of an unanswered connection request can be rejected.";
            case "rdma_establish" ->
                "Only an id without its own queue pair can be established, after CONNECT_RESPONSE.";
            case "rdma_disconnect" -> "The id is not connected.";
            case "rdma_init_qp_attr" ->
                "The attributes of INIT are known after the address is resolved, those of RTR and RTS after"
                        + " CONNECT_REQUEST or CONNECT_RESPONSE.";
            case "rdma_join_multicast", "rdma_join_multicast_ex" ->
                "Joining needs an id of a datagram port space that is bound or resolved to a device.";
            default -> "";
        };
    }
}
