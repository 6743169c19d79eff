package io.rdmatest.verbs;

import io.rdmatest.ffi.rdma_h;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.ToLongFunction;

/**
 * Something that not every RDMA device can do (IBTA volume 1, section 11.2.1.2; ibv_query_device(3),
 * ibv_query_device_ex(3)). {@link #toString()} is its name in fabric files and messages.
 */
public enum DeviceCapability {

    /** Compare-and-swap and fetch-and-add, atomic at least among the queue pairs of the device. */
    ATOMICS(
            "atomics",
            seen -> when(
                    seen.attributes().atomicCapability() == AtomicCapability.NONE, "atomic_cap is IBV_ATOMIC_NONE")),

    /** Atomics that are atomic against the processor and other devices, too. */
    GLOBAL_ATOMICS(
            "global-atomics",
            seen -> when(
                    seen.attributes().atomicCapability() != AtomicCapability.GLOB,
                    "atomic_cap is IBV_ATOMIC_" + seen.attributes().atomicCapability())),

    /** Shared receive queues. */
    SHARED_RECEIVE_QUEUES(
            "shared-receive-queues", some("max_srq", seen -> seen.attributes().maxSrq())),

    /** Shared receive queues whose size can be changed. */
    RESIZABLE_SHARED_RECEIVE_QUEUES(
            "resizable-shared-receive-queues", flag("IBV_DEVICE_SRQ_RESIZE", () -> rdma_h.IBV_DEVICE_SRQ_RESIZE())),

    /** Queue pairs of the type UC. */
    UNRELIABLE_CONNECTIONS("unreliable-connections", service(QpType.UC)),

    /** Queue pairs of the type UD. */
    UNRELIABLE_DATAGRAMS("unreliable-datagrams", service(QpType.UD)),

    /** Queue pairs that attach to multicast groups. */
    MULTICAST("multicast", some("max_mcast_grp", seen -> seen.attributes().maxMcastGroups())),

    /** Memory windows of type 1. */
    MEMORY_WINDOWS("memory-windows", some("max_mw", seen -> seen.attributes().maxMw())),

    /** Memory windows of type 2A or 2B. */
    MEMORY_WINDOWS_TYPE_2(
            "memory-windows-type-2",
            seen -> when(
                    (seen.attributes().capabilityFlags()
                                    & (rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2A() | rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B()))
                            == 0,
                    "device_cap_flags has neither IBV_DEVICE_MEM_WINDOW_TYPE_2A nor _2B")),

    /** Extended reliable connections (IBTA volume 1, annex A14). */
    XRC("xrc", flag("IBV_DEVICE_XRC", () -> rdma_h.IBV_DEVICE_XRC())),

    /** Base memory management extensions: send with invalidate, local invalidate, fast registration. */
    MEMORY_MANAGEMENT_EXTENSIONS(
            "memory-management-extensions",
            flag("IBV_DEVICE_MEM_MGT_EXTENSIONS", () -> rdma_h.IBV_DEVICE_MEM_MGT_EXTENSIONS())),

    /** Memory regions whose pages need not be pinned. */
    ON_DEMAND_PAGING(
            "on-demand-paging",
            seen -> when((seen.extended().odpCapabilities() & 1) == 0, "odp_caps.general_caps has no IBV_ODP_SUPPORT")),

    /** One memory region over the whole address space, paged on demand. */
    IMPLICIT_ON_DEMAND_PAGING(
            "implicit-on-demand-paging",
            seen -> when(
                    (seen.extended().odpCapabilities() & 2) == 0,
                    "odp_caps.general_caps has no IBV_ODP_SUPPORT_IMPLICIT")),

    /** Timestamps in completions. */
    COMPLETION_TIMESTAMPS(
            "completion-timestamps",
            some("completion_timestamp_mask", seen -> seen.extended().completionTimestampMask())),

    /** Matching of messages by tag. */
    TAG_MATCHING(
            "tag-matching", some("tm_caps.max_num_tags", seen -> seen.extended().maxTags())),

    /** Memory on the device itself. */
    DEVICE_MEMORY("device-memory", some("max_dm_size", seen -> seen.extended().maxDeviceMemory()));

    private final String text;
    private final Function<DeviceCapabilities, Optional<String>> check;

    DeviceCapability(String text, Function<DeviceCapabilities, Optional<String>> check) {
        this.text = text;
        this.check = check;
    }

    Optional<String> lack(DeviceCapabilities seen) {
        return check.apply(seen);
    }

    private static Optional<String> when(boolean lacking, String why) {
        return lacking ? Optional.of(why) : Optional.empty();
    }

    private static Function<DeviceCapabilities, Optional<String>> some(
            String attribute, ToLongFunction<DeviceCapabilities> value) {
        return seen -> when(value.applyAsLong(seen) == 0, attribute + " is 0");
    }

    /** The bit is a supplier, because naming a capability must not open the libraries. */
    private static Function<DeviceCapabilities, Optional<String>> flag(String name, IntSupplier bit) {
        return seen ->
                when((seen.attributes().capabilityFlags() & bit.getAsInt()) == 0, "device_cap_flags has no " + name);
    }

    private static Function<DeviceCapabilities, Optional<String>> service(QpType type) {
        return seen -> when(!seen.services().contains(type), "ibv_create_qp refuses the type " + type);
    }

    /** Returns the name that fabric files and messages use, for example {@code on-demand-paging}. */
    @Override
    public String toString() {
        return text;
    }
}
