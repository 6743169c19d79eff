package io.rdmatest.internal;

import java.util.Map;

/** Names, texts and usual cures of errno values. The values are those of Linux on x86-64 and aarch64. */
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

    private static final String DEVICE_GONE =
            "The device is gone: its firmware was reset, its driver was reloaded, or it was removed; open it again"
                    + " when 'rdma link show' lists it.";

    private Errno() {}

    /**
     * Returns the name of an errno value.
     *
     * @param errno the value, positive or negative
     * @return its C name, or {@code errno N} for a value that RDMA calls do not usually report
     */
    public static String name(int errno) {
        int value = Math.abs(errno);
        return NAMES.getOrDefault(value, "errno " + value);
    }

    /**
     * Returns whether an errno value means "not supported".
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
     * Returns whether calls fail with this errno value after their device was removed.
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
     * Returns whether the errno of a destroying call means that the object is gone with its device. After a firmware
     * reset, a removal or a driver reload the kernel has released all objects. Every later call fails with EIO
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

    /**
     * Returns whether a call is one of libibverbs or librdmacm. rsockets return the same errno for a broken connection.
     */
    private static boolean ofDevice(String call) {
        return call.startsWith("ibv_") || call.startsWith("rdma_");
    }

    /**
     * Returns the C library's text for an errno value.
     *
     * @param errno the value, positive or negative
     * @return the text of strerror(3)
     */
    public static String text(int errno) {
        return Libc.strerror(Math.abs(errno));
    }

    /**
     * Returns a cure for the usual causes of a failure.
     *
     * @param call the C function that failed
     * @param errno the errno value
     * @return one sentence; empty if no usual cause is known
     */
    public static String cure(String call, int errno) {
        return switch (name(errno)) {
            case "ENOMEM" ->
                call.contains("reg_mr") || call.contains("create_")
                        ? "The limit of locked memory (ulimit -l) is usually too small: raise it with 'ulimit -l unlimited'"
                                + " or memlock in limits.conf, or ask for less memory or fewer entries."
                        : "The device or the kernel is out of memory for this kind of object.";
            case "EPERM", "EACCES" ->
                "Permission denied: check read and write access to /dev/infiniband/uverbs* and rdma_cm, or run as"
                        + " root.";
            case "EIO", "ENXIO" -> ofDevice(call) ? DEVICE_GONE : "";
            case "ENODEV" ->
                call.startsWith("ibv_")
                        ? DEVICE_GONE
                        : "No RDMA device for this address: 'rdma link show' lists the devices and their port"
                                + " states; the address must belong to a network interface with an RDMA device.";
            case "ENETUNREACH", "EHOSTUNREACH" ->
                "There is no route to the address: 'ip route get ADDRESS' must leave through an interface with an RDMA device.";
            case "EADDRNOTAVAIL" -> "No interface of this host has the address: 'ip address' lists the addresses.";
            case "EADDRINUSE" -> "The port is in use by another listener, or by an id that is not closed yet.";
            case "ENOENT" ->
                call.startsWith("rdma_create_event_channel")
                        ? "The kernel module is missing: 'modprobe rdma_ucm' as root."
                        : "";
            case "EMFILE" -> "Too many open files: raise 'ulimit -n', or close event channels and contexts.";
            case "ENOSYS", "EOPNOTSUPP" -> "The device, its driver or the kernel does not support this.";
            case "ECONNREFUSED" ->
                "No listener at this address and port, or the listener rejected: start the server, or check its port"
                        + " and port space.";
            case "ECONNRESET", "ECONNABORTED", "EPIPE" ->
                "The connection has ended: the peer closed it, or its device stopped acknowledging; see the peer's"
                        + " messages.";
            case "ENETDOWN" -> "The network interface is down: 'ip link set dev NAME up' as root.";
            case "ETIMEDOUT" ->
                call.equals("rdma_resolve_addr")
                        ? "No host answers ARP or neighbour discovery for the address ('ip neigh' shows it): check"
                                + " the address and that the host is up."
                        : "The peer did not answer: check that it runs and that the path between the hosts is up.";
            case "EINVAL" ->
                call.equals("ibv_modify_qp")
                        ? "The transition is not allowed from the current state, or one of its attributes is missing"
                                + " or out of range."
                        : "";
            default -> "";
        };
    }
}
