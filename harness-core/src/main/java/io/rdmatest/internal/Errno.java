package io.rdmatest.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Map;

/** Names errno values and knows what usually cures them. Values are those of Linux on x86-64 and aarch64. */
public final class Errno {

    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(1, "EPERM"),
            Map.entry(2, "ENOENT"),
            Map.entry(4, "EINTR"),
            Map.entry(5, "EIO"),
            Map.entry(6, "ENXIO"),
            Map.entry(9, "EBADF"),
            Map.entry(11, "EAGAIN"),
            Map.entry(12, "ENOMEM"),
            Map.entry(13, "EACCES"),
            Map.entry(14, "EFAULT"),
            Map.entry(16, "EBUSY"),
            Map.entry(17, "EEXIST"),
            Map.entry(19, "ENODEV"),
            Map.entry(22, "EINVAL"),
            Map.entry(23, "ENFILE"),
            Map.entry(24, "EMFILE"),
            Map.entry(28, "ENOSPC"),
            Map.entry(32, "EPIPE"),
            Map.entry(38, "ENOSYS"),
            Map.entry(61, "ENODATA"),
            Map.entry(71, "EPROTO"),
            Map.entry(90, "EMSGSIZE"),
            Map.entry(92, "ENOPROTOOPT"),
            Map.entry(93, "EPROTONOSUPPORT"),
            Map.entry(95, "EOPNOTSUPP"),
            Map.entry(97, "EAFNOSUPPORT"),
            Map.entry(98, "EADDRINUSE"),
            Map.entry(99, "EADDRNOTAVAIL"),
            Map.entry(100, "ENETDOWN"),
            Map.entry(101, "ENETUNREACH"),
            Map.entry(103, "ECONNABORTED"),
            Map.entry(104, "ECONNRESET"),
            Map.entry(105, "ENOBUFS"),
            Map.entry(106, "EISCONN"),
            Map.entry(107, "ENOTCONN"),
            Map.entry(110, "ETIMEDOUT"),
            Map.entry(111, "ECONNREFUSED"),
            Map.entry(113, "EHOSTUNREACH"),
            Map.entry(114, "EALREADY"),
            Map.entry(115, "EINPROGRESS"),
            Map.entry(524, "ENOTSUPP"));

    private static final MethodHandle STRERROR = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("strerror"),
                    FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));

    private static final String DEVICE_GONE =
            "The device is gone: its firmware was reset, its driver was loaded again, or it was removed; once 'rdma link show'"
                    + " lists it again, open it anew.";

    private Errno() {}

    /**
     * Names an errno value.
     *
     * @param errno the value, positive or negative
     * @return its C name, or {@code errno N} for a value that RDMA calls do not usually report
     */
    public static String name(int errno) {
        int value = Math.abs(errno);
        return NAMES.getOrDefault(value, "errno " + value);
    }

    /**
     * Tells whether an errno value says that something is not supported at all.
     *
     * @param errno the value, positive or negative
     */
    public static boolean isUnsupported(int errno) {
        return switch (name(errno)) {
            case "ENOSYS", "EOPNOTSUPP", "ENOTSUPP", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ENOPROTOOPT" -> true;
            default -> false;
        };
    }

    /**
     * Tells whether an errno value is what calls end with when their device was removed.
     *
     * @param errno the value, positive or negative
     */
    public static boolean isDeviceGone(int errno) {
        return switch (name(errno)) {
            case "ENXIO", "ENODEV", "EIO" -> true;
            default -> false;
        };
    }

    /**
     * Tells whether a call that destroys an object has found that the object is gone with its device. After a reset of the
     * firmware, a removal or a driver's reload the kernel has released all objects, and every further call ends with EIO
     * (ibv_open_device(3), RDMAV_ALLOW_DISASSOC_DESTROY) or ENODEV.
     *
     * @param errno the value, positive or negative
     */
    public static boolean isReleasedWithDevice(int errno) {
        return switch (name(errno)) {
            case "EIO", "ENODEV" -> true;
            default -> false;
        };
    }

    /** Tells whether a call goes to a device: those of rsockets tell a broken connection by the same errno. */
    private static boolean ofDevice(String call) {
        return call.startsWith("ibv_") || call.startsWith("rdma_");
    }

    /**
     * Explains an errno value in the C library's words.
     *
     * @param errno the value, positive or negative
     * @return the text of strerror(3)
     */
    public static String text(int errno) {
        try {
            MemorySegment text = (MemorySegment) STRERROR.invokeExact(Math.abs(errno));
            return Native.string(text, 256);
        } catch (Throwable e) {
            throw Native.unchecked("strerror", e);
        }
    }

    /**
     * Says what to do about the usual causes of a failure.
     *
     * @param call the C function that failed
     * @param errno the errno value
     * @return one sentence, or an empty string where no usual cause is known
     */
    public static String cure(String call, int errno) {
        return switch (name(errno)) {
            case "ENOMEM" ->
                call.contains("reg_mr") || call.contains("create_")
                        ? "The limit of locked memory (ulimit -l) is usually too small: raise it with 'ulimit -l unlimited'"
                                + " or memlock in limits.conf, or ask for less memory or fewer entries."
                        : "The device or the kernel is out of memory for this kind of object.";
            case "EPERM", "EACCES" ->
                "The user lacks the permission: check read and write access to /dev/infiniband/uverbs* and rdma_cm, or run"
                        + " as root.";
            case "EIO", "ENXIO" -> ofDevice(call) ? DEVICE_GONE : "";
            case "ENODEV" ->
                call.startsWith("ibv_")
                        ? DEVICE_GONE
                        : "No RDMA device serves this: 'rdma link show' lists the devices and the states of their ports; an address"
                                + " must belong to a network interface with an RDMA device.";
            case "ENETUNREACH", "EHOSTUNREACH" ->
                "There is no route to the address: 'ip route get ADDRESS' must leave through an interface with an RDMA device.";
            case "EADDRNOTAVAIL" -> "The address is not on an interface of this host: 'ip address' lists them.";
            case "EADDRINUSE" ->
                "The port is taken: another listener has it, or it is in use by an id that is not closed yet.";
            case "ENOENT" ->
                call.startsWith("rdma_create_event_channel")
                        ? "The kernel module is missing: 'modprobe rdma_ucm' as root."
                        : "";
            case "EMFILE" -> "Too many open files: raise 'ulimit -n', or close event channels and contexts.";
            case "ENOSYS", "EOPNOTSUPP" -> "The device, its driver or the kernel does not support this.";
            case "ECONNREFUSED" ->
                "No listener answers at this address and port, or it rejected: start the server, or compare its port and port"
                        + " space with these.";
            case "ECONNRESET", "ECONNABORTED", "EPIPE" ->
                "The connection has ended: the peer closed it or its device stopped acknowledging; the peer's own messages tell"
                        + " which.";
            case "ENETDOWN" -> "The network interface is down: 'ip link set dev NAME up' as root.";
            case "ETIMEDOUT" ->
                call.equals("rdma_resolve_addr")
                        ? "Nobody on the network answers for the address: 'ip neigh' tells whether ARP or neighbour discovery does;"
                                + " check the address and that the host is up."
                        : "The peer did not answer: check that it runs and that the path between the hosts is up.";
            case "EINVAL" ->
                call.equals("ibv_modify_qp")
                        ? "The transition is not allowed from the present state, or an attribute of it is missing or out of range."
                        : "";
            default -> "";
        };
    }
}
