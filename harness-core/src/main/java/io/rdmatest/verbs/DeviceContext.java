package io.rdmatest.verbs;

import io.rdmatest.Deadline;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.ibv_async_event;
import io.rdmatest.ffi.ibv_context;
import io.rdmatest.ffi.ibv_context_ops;
import io.rdmatest.ffi.ibv_device;
import io.rdmatest.ffi.ibv_device_attr;
import io.rdmatest.ffi.ibv_device_attr_ex;
import io.rdmatest.ffi.ibv_gid_entry;
import io.rdmatest.ffi.ibv_odp_caps;
import io.rdmatest.ffi.ibv_port_attr;
import io.rdmatest.ffi.ibv_tm_caps;
import io.rdmatest.ffi.ibv_tso_caps;
import io.rdmatest.ffi.ibv_values_ex;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.timespec;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.ContextLayout;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.Descriptors;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** An open device (ibv_open_device(3)): the root of all objects on it. */
public final class DeviceContext extends VerbsObject {

    private static final long CONTEXT_OFFSET = verbs_context.context$offset();

    /** The most entries of one answer of the kernel, whose length has 16 bits (struct ib_uverbs_attr). */
    private static final long MOST_GIDS = 0xffff / ibv_gid_entry.sizeof();

    /**
     * The offset of active_speed_ex in struct ibv_port_attr (ibv_query_port(3)). The field is newer than the bindings.
     * active_speed has only 8 bits: for any speed above NDR the kernel reports NDR there. A library that does not know
     * active_speed_ex leaves it 0.
     */
    private static final long ACTIVE_SPEED_EX = 52;

    private static final long PORT_ATTRIBUTES = ACTIVE_SPEED_EX + Integer.BYTES;

    /** IBV_VALUES_MASK_RAW_CLOCK. */
    private static final int RAW_CLOCK = 1;

    private static final ValueLayout.OfShort BIG_ENDIAN_SHORT = ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    /** The bits of a P_Key that name the partition, without the bit for full membership. */
    private static final int PARTITION = 0x7fff;

    /** False if librdmacm opened the device and will close it. */
    private final boolean owned;

    final MemorySegment pollCq;
    final MemorySegment requestNotify;
    final MemorySegment postSend;
    final MemorySegment postReceive;
    final MemorySegment postSrqReceive;
    final boolean postsInUserSpace;
    final boolean pollsInUserSpace;
    /** Whether completions have a flag with the kernel's value: see {@link Completions#mendFlags()}. */
    final boolean hasFlagsOfKernel;

    /** Of all devices: the two ends of a connection may have one each. */
    private static final AtomicLong FAILURES_TAKEN = new AtomicLong();

    private final Transport transport;
    private final int asyncFd;
    /** Null until the first query. */
    private volatile @Nullable Boolean atomics;

    private DeviceContext(MemorySegment handle, String name, boolean owned, @Nullable NativeResource... parents) {
        this.owned = owned;
        MemorySegment ops = ibv_context.ops(handle);
        this.pollCq = ibv_context_ops.poll_cq(ops);
        this.requestNotify = ibv_context_ops.req_notify_cq(ops);
        this.postSend = ibv_context_ops.post_send(ops);
        this.postReceive = ibv_context_ops.post_recv(ops);
        this.postSrqReceive = ibv_context_ops.post_srq_recv(ops);
        this.postsInUserSpace = Provider.postsInUserSpace(ibv_context_ops.post_send(ops));
        this.pollsInUserSpace = Provider.pollsInUserSpace(ibv_context_ops.poll_cq(ops));
        this.hasFlagsOfKernel = Provider.hasFlagsOfKernel(ibv_context_ops.poll_cq(ops));
        this.transport = Transport.of(
                ibv_device.transport_type(ibv_context.device(handle).reinterpret(ibv_device.sizeof())));
        this.asyncFd = ibv_context.async_fd(handle);
        super("context", handle, name, parents);
        Descriptors.makeNonBlocking(asyncFd);
    }

    static DeviceContext own(MemorySegment handle, String name) {
        return new DeviceContext(handle.reinterpret(ContextLayout.SIZE), name, true);
    }

    /** Wraps a context that librdmacm opened and will close. */
    static DeviceContext borrow(MemorySegment handle, @Nullable NativeResource... parents) {
        MemorySegment context = handle.reinterpret(ContextLayout.SIZE);
        MemorySegment device = ibv_context.device(context).reinterpret(ibv_device.sizeof());
        String name = Native.string(ibv_device.name(device), rdma_h.IBV_SYSFS_NAME_MAX());
        return new DeviceContext(context, name, false, parents);
    }

    /**
     * Tells whether librdmacm opened the device. All ids on the device share such a context, and librdmacm closes it with the
     * last of them. So a caller that gets the context from an id does not own it.
     */
    public boolean isShared() {
        return !owned;
    }

    /** Returns the transport that the device speaks. */
    public Transport transport() {
        return transport;
    }

    /** Returns the kernel driver, as {@link RdmaDevice#driver()} does; {@code "unknown"} if the device is no longer there. */
    public String driver() {
        return RdmaDevice.list().stream()
                .filter(device -> device.name().equals(deviceName()))
                .findFirst()
                .map(RdmaDevice::driver)
                .orElse("unknown");
    }

    /** Returns what the device can do. */
    public DeviceAttributes attributes() {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_device_attr.allocate(arena);
            Verbs.run(Verbs.QUERY_DEVICE, deviceName(), handle, attr);
            return new DeviceAttributes(
                    ibv_device_attr.fw_ver(attr).getString(0),
                    Verbs.network(ibv_device_attr.node_guid(attr)),
                    ibv_device_attr.vendor_id(attr),
                    ibv_device_attr.vendor_part_id(attr),
                    ibv_device_attr.hw_ver(attr),
                    ibv_device_attr.max_mr_size(attr),
                    ibv_device_attr.max_qp(attr),
                    ibv_device_attr.max_qp_wr(attr),
                    ibv_device_attr.max_sge(attr),
                    ibv_device_attr.max_cq(attr),
                    ibv_device_attr.max_cqe(attr),
                    ibv_device_attr.max_mr(attr),
                    ibv_device_attr.max_pd(attr),
                    ibv_device_attr.max_qp_rd_atom(attr),
                    ibv_device_attr.max_qp_init_rd_atom(attr),
                    AtomicCapability.of(ibv_device_attr.atomic_cap(attr)),
                    ibv_device_attr.max_mcast_grp(attr),
                    ibv_device_attr.max_mcast_qp_attach(attr),
                    ibv_device_attr.max_ah(attr),
                    ibv_device_attr.max_srq(attr),
                    ibv_device_attr.max_srq_wr(attr),
                    ibv_device_attr.max_srq_sge(attr),
                    ibv_device_attr.max_mw(attr),
                    ibv_device_attr.max_pkeys(attr) & 0xffff,
                    ibv_device_attr.phys_port_cnt(attr) & 0xff,
                    ibv_device_attr.device_cap_flags(attr));
        } finally {
            end();
        }
    }

    /**
     * Returns all access that the device can grant to memory and through queue pairs: {@link Access#LOCAL_WRITE},
     * {@link Access#REMOTE_WRITE} and {@link Access#REMOTE_READ}, and {@link Access#REMOTE_ATOMIC} if it has atomic operations.
     * Devices without atomic operations refuse memory and queue pairs that ask for {@link Access#REMOTE_ATOMIC}.
     *
     * @return the access; a new array each time
     */
    public Access[] allAccess() {
        return hasAtomics()
                ? new Access[] {Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC}
                : new Access[] {Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ};
    }

    /** Queries the device only once, because a test may open thousands of connections. */
    boolean hasAtomics() {
        Boolean known = atomics;
        if (known == null) {
            known = attributes().atomicCapability() != AtomicCapability.NONE;
            atomics = known;
        }
        return known;
    }

    /**
     * Returns the extended attributes of the device (ibv_query_device_ex(3)).
     *
     * @return the attributes; all 0 if the provider has no such call
     */
    public ExtendedDeviceAttributes extendedAttributes() {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            Optional<MemorySegment> query = extended(verbs_context::query_device_ex);
            if (query.isEmpty()) {
                return ExtendedDeviceAttributes.NONE;
            }
            MemorySegment attr = ibv_device_attr_ex.allocate(arena);
            int result = (int) Verbs.QUERY_DEVICE_EX
                    .handle()
                    .invokeExact(query.get(), Native.errnoState(), handle, MemorySegment.NULL, attr, attr.byteSize());
            if (Errno.isUnsupported(Math.abs(result))) {
                return ExtendedDeviceAttributes.NONE;
            }
            Verbs.check(result, "ibv_query_device_ex", deviceName());
            MemorySegment paging = ibv_device_attr_ex.odp_caps(attr);
            MemorySegment byTransport = ibv_odp_caps.per_transport_caps(paging);
            return new ExtendedDeviceAttributes(
                    ibv_odp_caps.general_caps(paging),
                    ibv_odp_caps.per_transport_caps.rc_odp_caps(byTransport),
                    ibv_odp_caps.per_transport_caps.uc_odp_caps(byTransport),
                    ibv_odp_caps.per_transport_caps.ud_odp_caps(byTransport),
                    ibv_device_attr_ex.xrc_odp_caps(attr),
                    ibv_device_attr_ex.completion_timestamp_mask(attr),
                    ibv_device_attr_ex.hca_core_clock(attr),
                    ibv_device_attr_ex.device_cap_flags_ex(attr),
                    ibv_tso_caps.max_tso(ibv_device_attr_ex.tso_caps(attr)),
                    ibv_tm_caps.max_num_tags(ibv_device_attr_ex.tm_caps(attr)),
                    ibv_device_attr_ex.max_dm_size(attr));
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_device_ex", e);
        } finally {
            end();
        }
    }

    /**
     * Explains the failure of a call that needs a capability. Providers report a missing capability with different errno values.
     */
    RdmaException failure(String call, String operands, int errno, DeviceCapability needed) {
        if (!Errno.isDeviceGone(errno)) {
            Optional<String> lack;
            try {
                lack = new DeviceCapabilities(attributes(), extendedAttributes(), Set.of()).lack(needed);
            } catch (RdmaException e) {
                RdmaException first = new RdmaException(call, operands, errno);
                first.addSuppressed(e);
                return first;
            }
            if (lack.isPresent()) {
                return new RdmaException(
                        call, operands, rdma_h.EOPNOTSUPP(), "The device has no " + needed + ": " + lack.get() + ".");
            }
        }
        return new RdmaException(call, operands, errno);
    }

    /**
     * Reads all capabilities of the device. No attribute lists the services, so the method creates and destroys a queue pair of
     * each type.
     *
     * @return the capabilities; they do not change while the device exists
     * @throws RdmaException if the device can't be queried, for example because it has no protection domain left
     */
    public DeviceCapabilities capabilities() {
        try (QueuePairProbe probe = new QueuePairProbe(this)) {
            return new DeviceCapabilities(attributes(), extendedAttributes(), probe.services());
        }
    }

    /**
     * Finds the largest number of bytes that a send can carry inline. Only ibv_create_qp(3) tells it, so the method creates queue
     * pairs with one work request of one segment. It makes about twenty calls.
     *
     * @param type the service
     * @return bytes; 0 if there is no inline data, or no such service
     * @throws RdmaException if the device can't be queried, for example because it has no protection domain left
     */
    public int probeMaxInline(QpType type) {
        try (QueuePairProbe probe = new QueuePairProbe(this)) {
            return probe.maxInline(type);
        }
    }

    /**
     * Queries a port.
     *
     * @param port from 1
     * @return its state and limits
     * @throws RdmaException if there is no such port
     */
    public PortAttributes port(int port) {
        checkPort(port);
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = arena.allocate(PORT_ATTRIBUTES, Long.BYTES);
            String operands = deviceName() + ", port " + port;
            MemorySegment function = queryPort();
            int result = (int) Verbs.QUERY_PORT
                    .handle()
                    .invokeExact(function, Native.errnoState(), handle, (byte) port, attr, attr.byteSize());
            Verbs.check(result, "ibv_query_port", operands);
            int width = ibv_port_attr.active_width(attr) & 0xff;
            int wideSpeed = attr.get(ValueLayout.JAVA_INT, ACTIVE_SPEED_EX);
            int speed = wideSpeed != 0 ? wideSpeed : ibv_port_attr.active_speed(attr) & 0xff;
            return new PortAttributes(
                    PortState.of(ibv_port_attr.state(attr)),
                    Mtu.of(ibv_port_attr.max_mtu(attr)),
                    Mtu.of(ibv_port_attr.active_mtu(attr)),
                    LinkLayer.of(ibv_port_attr.link_layer(attr) & 0xff),
                    ibv_port_attr.gid_tbl_len(attr),
                    Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attr)),
                    ibv_port_attr.pkey_tbl_len(attr) & 0xffff,
                    ibv_port_attr.lid(attr) & 0xffff,
                    ibv_port_attr.sm_lid(attr) & 0xffff,
                    ibv_port_attr.lmc(attr) & 0xff,
                    PortAttributes.lanes(width),
                    speed,
                    PortAttributes.lanes(width) * PortAttributes.laneGbps(speed),
                    ibv_port_attr.phys_state(attr) & 0xff,
                    ibv_port_attr.port_cap_flags(attr),
                    ibv_port_attr.flags(attr) & 0xff);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_port", e);
        } finally {
            end();
        }
    }

    /** Returns the provider's query_port. The exported symbol fills the struct of an older ABI, which has no link layer. */
    private MemorySegment queryPort() {
        return extended(verbs_context::query_port)
                .orElseThrow(() -> new RdmaException("the provider of " + deviceName()
                        + " has no verbs_context.query_port: rdma-core 17 or newer is needed"));
    }

    /**
     * Returns a function of the verbs_context that surrounds the ibv_context; empty if the provider has none. A verbs_context
     * exists if abi_compat is all ones.
     */
    Optional<MemorySegment> extended(UnaryOperator<MemorySegment> field) {
        if (!ContextLayout.isExtended(handle)) {
            return Optional.empty();
        }
        MemorySegment outer = MemorySegment.ofAddress(address - CONTEXT_OFFSET).reinterpret(verbs_context.sizeof());
        if (verbs_context.sz(outer) < verbs_context.sizeof()) {
            return Optional.empty();
        }
        MemorySegment function = field.apply(outer);
        return function.address() == 0 ? Optional.empty() : Optional.of(function);
    }

    /**
     * Lists the valid entries of a port's GID table.
     *
     * @param port from 1
     * @return the entries in order of their index; empty if the port has no address
     */
    public List<GidEntry> gidTable(int port) {
        // The kernel lists the entries of all ports, and fails if there is not enough room. The ports' tables differ
        // in length.
        int ports = Math.max(port, attributes().physicalPorts());
        long max = 1;
        for (int each = 1; each <= ports; each++) {
            max += port(each).gidTableLength();
        }
        max = Math.min(max, MOST_GIDS);
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = ibv_gid_entry.allocateArray(max, arena);
            long found = (long) Verbs.QUERY_GID_TABLE
                    .handle()
                    .invokeExact(Native.errnoState(), handle, entries, max, 0, ibv_gid_entry.sizeof());
            if (found < 0) {
                throw new RdmaException("ibv_query_gid_table", deviceName(), (int) -found);
            }
            List<GidEntry> table = new ArrayList<>();
            for (long i = 0; i < found; i++) {
                MemorySegment entry = ibv_gid_entry.asSlice(entries, i);
                if (ibv_gid_entry.port_num(entry) == port) {
                    table.add(new GidEntry(
                            Structs.gid(ibv_gid_entry.gid(entry)),
                            ibv_gid_entry.gid_index(entry),
                            port,
                            GidType.of(ibv_gid_entry.gid_type(entry)),
                            ibv_gid_entry.ndev_ifindex(entry)));
                }
            }
            return List.copyOf(table);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_gid_table", e);
        } finally {
            end();
        }
    }

    /**
     * Finds the present index of an entry that was read earlier. The kernel moves a GID to another index when its address is
     * removed and added again.
     *
     * @param known the entry as it was
     * @return the entry as it is now, of the same port, GID, type and network interface
     * @throws RdmaException if the table no longer has it; the message lists what it has
     */
    public GidEntry current(GidEntry known) {
        List<GidEntry> table = gidTable(known.port());
        return table.stream()
                .filter(entry -> entry.gid().equals(known.gid())
                        && entry.type() == known.type()
                        && entry.interfaceIndex() == known.interfaceIndex())
                .min(Comparator.comparing(entry -> entry.index() != known.index()))
                .orElseThrow(() ->
                        new RdmaException("port " + known.port() + " of " + deviceName() + " no longer has the GID "
                                + known.gid() + " (" + known.type() + "), which was at index " + known.index()
                                + ": its address was removed, or its network interface; it has " + table));
    }

    /**
     * Returns one GID of a port.
     *
     * @param port from 1
     * @param index the index in the table, from 0
     * @return the GID
     * @throws RdmaException if the entry is not in use; the message lists those that are
     */
    public Gid gid(int port, int index) {
        List<GidEntry> table = gidTable(port);
        return table.stream()
                .filter(entry -> entry.index() == index)
                .map(GidEntry::gid)
                .findFirst()
                .orElseThrow(() -> new RdmaException("port " + port + " of " + deviceName() + " has no GID at index "
                        + index + "; it has " + table));
    }

    /**
     * Reads a port's P_Key table (ibv_query_pkey(3); IBTA volume 1, section 10.9.1).
     *
     * @param port from 1
     * @return the P_Keys of 16 bits in order of their index, 0 where an entry is not in use; the highest bit means full
     *     membership. On Ethernet the only entry is 0xffff.
     * @throws RdmaException if there is no such port, or the table can't be read
     */
    public List<Integer> pkeyTable(int port) {
        int entries = port(port).pkeyTableLength();
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pkey = arena.allocate(BIG_ENDIAN_SHORT);
            List<Integer> table = new ArrayList<>(entries);
            for (int index = 0; index < entries; index++) {
                int result = (int)
                        Verbs.QUERY_PKEY.handle().invokeExact(Native.errnoState(), handle, (byte) port, index, pkey);
                Verbs.check(result, "ibv_query_pkey", deviceName() + ", port " + port + ", index " + index);
                table.add(pkey.get(BIG_ENDIAN_SHORT, 0) & 0xffff);
            }
            return List.copyOf(table);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_pkey", e);
        } finally {
            end();
        }
    }

    /**
     * Finds the index of a partition in a port's P_Key table.
     *
     * @param port from 1
     * @param pkey the P_Key of 16 bits. An entry with the same highest bit, which means full membership, is preferred. Otherwise
     *     an entry of the same partition is taken.
     * @return the index, for {@link QueuePairModification.Builder#pkeyIndex} and
     *     {@link RawConnection.Parameters#withPkeyIndex}
     * @throws RdmaException if the port is not a member of the partition; the message lists the port's partitions
     */
    public int pkeyIndex(int port, int pkey) {
        AddressHandleAttributes.range("pkey", pkey, 0xffff);
        List<Integer> table = pkeyTable(port);
        int index = table.indexOf(pkey);
        for (int i = 0; index < 0 && i < table.size(); i++) {
            int entry = table.get(i);
            if (entry != 0 && (entry & PARTITION) == (pkey & PARTITION)) {
                index = i;
            }
        }
        if (index < 0 || pkey == 0) {
            throw new RdmaException("port " + port + " of " + deviceName() + " is not a member of partition "
                    + hex(pkey) + "; its P_Key table has "
                    + table.stream()
                            .filter(entry -> entry != 0)
                            .map(DeviceContext::hex)
                            .collect(Collectors.joining(", "))
                    + ": the subnet manager gives a port its partitions");
        }
        return index;
    }

    private static String hex(int pkey) {
        return String.format(Locale.ROOT, "0x%04x", pkey);
    }

    /** Allocates a protection domain (ibv_alloc_pd(3)). */
    public ProtectionDomain allocateProtectionDomain() {
        return ProtectionDomain.allocate(this);
    }

    /**
     * Opens an XRC domain of this process's own (ibv_open_xrcd(3)).
     *
     * @return the domain
     * @throws RdmaException if the device refuses; the exception is {@linkplain RdmaException#isUnsupported() unsupported} if the
     *     device lacks {@link DeviceCapability#XRC}
     */
    public XrcDomain openXrcDomain() {
        return XrcDomain.open(this);
    }

    /** Creates a completion channel (ibv_create_comp_channel(3)). */
    public CompletionChannel createCompletionChannel() {
        return CompletionChannel.create(this);
    }

    /**
     * Creates a completion queue without a channel, to be polled (ibv_create_cq(3)).
     *
     * @param entries the least number of entries, from 1
     * @return the queue; it may have more entries
     */
    public CompletionQueue createCompletionQueue(int entries) {
        return createCompletionQueue(CompletionQueueAttributes.of(entries));
    }

    /**
     * Creates a completion queue whose events come through a channel (ibv_create_cq(3)).
     *
     * @param entries the least number of entries, from 1
     * @param channel a channel of this device
     * @return the queue; it may have more entries
     */
    public CompletionQueue createCompletionQueue(int entries, CompletionChannel channel) {
        return createCompletionQueue(CompletionQueueAttributes.of(entries).withChannel(channel));
    }

    /**
     * Creates a completion queue (ibv_create_cq(3)).
     *
     * @param attributes entries, channel, completion vector and timestamps
     * @return the queue; it may have more entries
     * @throws IllegalArgumentException if the channel is of another device
     * @throws RdmaException if the device refuses. If the device does not have the vector, the message says which vectors there
     *     are. The exception is {@linkplain RdmaException#isUnsupported() unsupported} if the device has no extended queues or no
     *     timestamps.
     */
    public CompletionQueue createCompletionQueue(CompletionQueueAttributes attributes) {
        return CompletionQueue.create(this, attributes);
    }

    /**
     * Returns how many completion vectors the device has, at least 1 (ibv_create_cq(3), ibv_context.num_comp_vectors). The
     * vectors spread completion events over interrupts.
     */
    public int completionVectors() {
        begin();
        try {
            return vectors();
        } finally {
            end();
        }
    }

    /**
     * Reads the device's clock (ibv_query_rt_values_ex(3)). {@link CompletionTimestamp#DEVICE_CLOCK} timestamps are of the same
     * clock.
     *
     * @return ticks; {@link ExtendedDeviceAttributes#coreClockKhz()} says how many there are in a millisecond
     * @throws RdmaException if the device has no readable clock; the exception is then {@linkplain RdmaException#isUnsupported()
     *     unsupported}
     */
    public long deviceClock() {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = extended(verbs_context::query_rt_values)
                    .orElseThrow(() -> new RdmaException("ibv_query_rt_values_ex", deviceName(), rdma_h.EOPNOTSUPP()));
            MemorySegment values = ibv_values_ex.allocate(arena);
            ibv_values_ex.comp_mask(values, RAW_CLOCK);
            int result =
                    (int) Verbs.QUERY_RT_VALUES.handle().invokeExact(function, Native.errnoState(), handle, values);
            Verbs.check(result, "ibv_query_rt_values_ex", deviceName());
            MemorySegment clock = ibv_values_ex.raw_clock(values);
            return timespec.tv_sec(clock) * 1_000_000_000 + timespec.tv_nsec(clock);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_rt_values_ex", e);
        } finally {
            end();
        }
    }

    /** Returns the number of completion vectors, for a caller that holds the context. */
    int vectors() {
        return ibv_context.num_comp_vectors(handle);
    }

    /** Counts completions with an error status that were polled; not on the hot path. */
    static void takeFailures(int count) {
        long ignored = FAILURES_TAKEN.addAndGet(count);
    }

    static long failuresTaken() {
        return FAILURES_TAKEN.get();
    }

    /** Takes the next asynchronous event, if there is one now (ibv_get_async_event(3)). */
    public Optional<AsyncEvent> pollAsyncEvent() {
        begin();
        try {
            return takeAsyncEvent(System.nanoTime());
        } finally {
            end();
        }
    }

    /**
     * Waits for an asynchronous event.
     *
     * @param timeout the longest time to wait
     * @return the event, acknowledged
     * @throws RdmaTimeoutException if no event arrives in time
     */
    public AsyncEvent awaitAsyncEvent(Duration timeout) {
        long deadline = Deadline.end(timeout);
        String awaited = "asynchronous event of " + deviceName();
        while (true) {
            begin();
            try {
                Optional<AsyncEvent> event = takeAsyncEvent(deadline);
                if (event.isPresent()) {
                    return event.get();
                }
            } finally {
                end();
            }
            Verbs.failIfInterrupted(awaited);
            if (Deadline.isOver(deadline)) {
                throw new RdmaTimeoutException(awaited, Deadline.of(deadline, timeout), "");
            }
        }
    }

    private Optional<AsyncEvent> takeAsyncEvent(long deadline) {
        if (!Verbs.awaitReadable(asyncFd, deadline)) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = ibv_async_event.allocate(arena);
            int result = (int) Verbs.GET_ASYNC_EVENT.handle().invokeExact(Native.errnoState(), handle, event);
            if (result != 0) {
                if (Native.errno() == rdma_h.EAGAIN()) {
                    return Optional.empty();
                }
                throw NativeCalls.failure("ibv_get_async_event", deviceName());
            }
            int code = ibv_async_event.event_type(event);
            AsyncEvent.Type type = AsyncEvent.Type.of(code);
            MemorySegment element = ibv_async_event.element(event);
            int port = type.ofPort() ? ibv_async_event.element.port_num(element) : 0;
            String affected = port != 0 ? "port " + port : deviceName();
            if (type.ofCompletionQueue() || type.ofQueuePair() || type.ofSharedReceiveQueue()) {
                VerbsObject object =
                        byAddress(ibv_async_event.element.cq(element).address());
                affected = object == null ? "an object of " + deviceName() + " that is closed" : object.describe();
            }
            // Before anybody can destroy the object: its destruction waits for this acknowledgement without a limit.
            rdma_h.ibv_ack_async_event(event);
            return Optional.of(new AsyncEvent(type, code, affected, port));
        } catch (Throwable e) {
            throw Native.unchecked("ibv_get_async_event", e);
        }
    }

    static void checkPort(int port) {
        if (port < 1 || port > 255) {
            throw new IllegalArgumentException("a port is 1 to 255, not " + port);
        }
    }

    @Override
    protected void release() {
        if (owned) {
            Verbs.destroy(Verbs.CLOSE_DEVICE, deviceName(), handle);
        }
    }

    @Override
    public String describe() {
        return "context " + deviceName();
    }
}
