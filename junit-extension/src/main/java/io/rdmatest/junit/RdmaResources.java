package io.rdmatest.junit;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Hands out resources on one device, with the life of one scope. Ask for it as a parameter where a test decides while it
 * runs what it needs, or get it from an {@link RdmaExtension} field.
 *
 * <p>Each call makes a new object, except for the device, its context, the protection domain, the completion channel and the
 * event channel, of which a scope has one for each device: the same that parameters of these types get. Whoever asks
 * releases nothing: everything is released at the end of the scope, last first. Closing something earlier is allowed.
 *
 * <p>All methods throw {@link io.rdmatest.fabric.FabricException} if there is no such device, {@link
 * io.rdmatest.RdmaException} if it refuses, and {@link IllegalArgumentException} for a value that the device can't do.
 */
public final class RdmaResources {

    /** The one of its type that a life has on a device. */
    private record Common(Class<?> type, String device) {}

    private final ExtensionContext context;
    private final RunDevice device;
    private final Life life;
    private final Life domainLife;

    /**
     * @param domainLife whose protection domain is used: an enclosing one, or the same
     */
    RdmaResources(ExtensionContext context, RunDevice device, Life life, Life domainLife) {
        this.context = context;
        this.device = device;
        this.life = life;
        this.domainLife = domainLife;
    }

    static RdmaResources of(ExtensionContext context) {
        Life life = Life.of(context);
        return new RdmaResources(context, RunDevice.of(context), life, life);
    }

    /**
     * Take resources from another device of this host.
     *
     * @param name what {@link OnDevice#value()} says; never null
     * @return resources of the same scope; never null
     */
    public RdmaResources onDevice(String name) {
        return new RdmaResources(context, RunDevice.of(context, Selection.device(name)), life, domainLife);
    }

    /**
     * Take resources from the device of a node of the fabric.
     *
     * @param name what {@link OnDevice#node()} says; never null
     * @return resources of the same scope; never null
     */
    public RdmaResources onNode(String name) {
        return new RdmaResources(context, RunDevice.of(context, Selection.node(name)), life, domainLife);
    }

    /**
     * Take resources from a device that was found before.
     *
     * @param found the device, with the port and the GID that connections use; never null
     * @return resources of the same scope; never null
     */
    public RdmaResources on(FabricDevice found) {
        return new RdmaResources(context, RunDevice.of(context, found), life, domainLife);
    }

    /**
     * Let resources live as long as another scope, on its protection domain.
     *
     * @param scope the scope; {@link ResourceScope#METHOD} is the innermost one; never null
     * @return resources of the same device; never null
     */
    public RdmaResources in(ResourceScope scope) {
        Life other = life(scope, context);
        return new RdmaResources(context, device, other, other);
    }

    static Life life(ResourceScope scope, ExtensionContext context) {
        return switch (scope) {
            case METHOD -> Life.of(context);
            case CLASS -> Life.ofClass(context);
            case RUN -> Life.ofRun(context);
        };
    }

    private <T> T provide(@Nullable Object key, Class<T> type, Supplier<T> provision) {
        return key == null ? life.provide(provision) : life.provide(key, type, provision);
    }

    private static <T> T common(Life owner, RunDevice device, Class<T> type, Supplier<T> provision) {
        return owner.provide(new Common(type, device.name()), type, provision);
    }

    /**
     * Get the device, port and GID.
     *
     * @return the device; never null
     */
    public FabricDevice device() {
        return device.require();
    }

    /**
     * Get the fabric that the test runs on, with its nodes, promises and thresholds.
     *
     * @return the fabric; never null
     */
    public Fabric fabric() {
        return device.fabric();
    }

    /**
     * Get the open device, the same for the whole run.
     *
     * @return the context; never null
     */
    public DeviceContext context() {
        return device.context();
    }

    /**
     * Get the protection domain of the scope.
     *
     * @return the protection domain; never null
     */
    public ProtectionDomain protectionDomain() {
        return common(
                domainLife,
                device,
                ProtectionDomain.class,
                () -> device.context().allocateProtectionDomain());
    }

    /**
     * Get the completion channel of the scope.
     *
     * @return the channel; never null
     */
    public CompletionChannel completionChannel() {
        return common(
                life, device, CompletionChannel.class, () -> device.context().createCompletionChannel());
    }

    /**
     * Create a completion queue.
     *
     * @param entries the least number of completions it holds, at least 1
     * @param events whether it is bound to {@link #completionChannel()}
     * @return the queue; never null
     */
    public CompletionQueue completionQueue(int entries, boolean events) {
        return completionQueue(null, entries, events);
    }

    CompletionQueue completionQueue(@Nullable Object key, int entries, boolean events) {
        OutOfRange.check("entries", entries, 1, Integer.MAX_VALUE);
        OutOfRange.checkLimit("entries", entries, device.attributes().maxCqe(), "max_cqe of " + device.name());
        return provide(
                key,
                CompletionQueue.class,
                () -> events
                        ? device.context().createCompletionQueue(entries, completionChannel())
                        : device.context().createCompletionQueue(entries));
    }

    /**
     * Create a queue pair in the state RESET, with a send and a receive completion queue of its own.
     *
     * @param options what it is like; never null
     * @return the queue pair; never null
     */
    public QueuePair queuePair(QueuePairOptions options) {
        options.check(device.attributes(), device.name());
        return life.provide(() -> protectionDomain()
                .createQueuePair(QueuePairAttributes.builder(options.type())
                        .sendQueue(ofOwn(options.maxSendWr()))
                        .receiveQueue(ofOwn(options.maxReceiveWr()))
                        .maxSendWr(options.maxSendWr())
                        .maxReceiveWr(options.maxReceiveWr())
                        .maxSendSge(options.maxSge())
                        .maxReceiveSge(options.maxSge())
                        .maxInline(options.maxInline())
                        .build()));
    }

    private CompletionQueue ofOwn(int entries) {
        return life.provide(() -> device.context().createCompletionQueue(entries));
    }

    /**
     * Register memory on a page boundary.
     *
     * @param size bytes, at least 1
     * @param access the access flags; none for what {@link Registered#access()} says of none
     * @return the memory region; never null
     */
    public MemoryRegion memory(long size, Access... access) {
        return memory(size, MemoryPlacement.ANYWHERE, access);
    }

    /**
     * Register memory on a boundary or a NUMA node of choice.
     *
     * @param size bytes, at least 1
     * @param placement where it lies; never null
     * @param access the access flags; none for what {@link Registered#access()} says of none
     * @return the memory region; never null
     */
    public MemoryRegion memory(long size, MemoryPlacement placement, Access... access) {
        return memory(null, size, placement, access);
    }

    MemoryRegion memory(@Nullable Object key, long size, MemoryPlacement placement, Access... access) {
        return provide(key, MemoryRegion.class, () -> {
            ProtectionDomain domain = protectionDomain();
            return domain.registerMemory(
                    size,
                    placement,
                    access.length > 0 ? access : domain.context().allAccess());
        });
    }

    /**
     * Create a shared receive queue.
     *
     * @param maxWr the most outstanding receives, at least 1
     * @param maxSge the most segments of one receive, at least 1
     * @return the queue; never null
     */
    public SharedReceiveQueue sharedReceiveQueue(int maxWr, int maxSge) {
        return sharedReceiveQueue(null, maxWr, maxSge);
    }

    SharedReceiveQueue sharedReceiveQueue(@Nullable Object key, int maxWr, int maxSge) {
        OutOfRange.check("maxWr", maxWr, 1, Integer.MAX_VALUE);
        OutOfRange.check("maxSge", maxSge, 1, Integer.MAX_VALUE);
        OutOfRange.checkLimit("maxWr", maxWr, device.attributes().maxSrqWr(), "max_srq_wr of " + device.name());
        OutOfRange.checkLimit("maxSge", maxSge, device.attributes().maxSrqSge(), "max_srq_sge of " + device.name());
        return provide(key, SharedReceiveQueue.class, () -> protectionDomain().createSharedReceiveQueue(maxWr, maxSge));
    }

    /**
     * Get the event channel of the scope.
     *
     * @return the channel; never null
     */
    public EventChannel eventChannel() {
        // Without a device the harness's own message would be about a missing file.
        return common(life, device, EventChannel.class, EventChannel::create);
    }

    /**
     * Create an rdma_cm id on {@link #eventChannel()}.
     *
     * @param portSpace its port space; never null
     * @return the id; never null
     */
    public CmId id(PortSpace portSpace) {
        return id(null, portSpace);
    }

    CmId id(@Nullable Object key, PortSpace portSpace) {
        return provide(key, CmId.class, () -> eventChannel().createId(portSpace));
    }

    /**
     * Open a connection as the test, its class or the builder describe it.
     *
     * @return the connection; never null
     */
    public Connection connection() {
        return connection(Qualifiers.connection(context));
    }

    /**
     * Open a connection, on the protection domain of the scope unless the options name one.
     *
     * @param options what it is like; never null
     * @return the connection; never null
     */
    public Connection connection(ConnectionOptions options) {
        return connection(null, options);
    }

    Connection connection(@Nullable Object key, ConnectionOptions options) {
        options.check();
        FabricDevice on = device.require();
        options.check(device.attributes(), device.portAttributes(), device.name());
        return provide(
                key,
                Connection.class,
                () -> Connection.open(
                        on,
                        options.protectionDomain().isPresent()
                                ? options
                                : options.protectionDomain(protectionDomain())));
    }
}
