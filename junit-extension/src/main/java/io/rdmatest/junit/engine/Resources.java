package io.rdmatest.junit.engine;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.OutOfRange;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.ResourceScope;
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

/** Makes the resources of one scope on one device. */
public final class Resources implements RdmaResources {

    /** The one of its type that a life has on a device. */
    private record Common(Class<?> type, String device) {}

    private final ExtensionContext context;
    private final RunDevice device;
    private final Life life;
    private final Life domainLife;

    /**
     * @param domainLife whose protection domain is used: an enclosing one, or the same
     */
    Resources(ExtensionContext context, RunDevice device, Life life, Life domainLife) {
        this.context = context;
        this.device = device;
        this.life = life;
        this.domainLife = domainLife;
    }

    static Resources of(ExtensionContext context) {
        Life life = Life.of(context);
        return new Resources(context, RunDevice.of(context), life, life);
    }

    @Override
    public Resources onDevice(String name) {
        return new Resources(context, RunDevice.of(context, Selection.device(name)), life, domainLife);
    }

    @Override
    public Resources onNode(String name) {
        return new Resources(context, RunDevice.of(context, Selection.node(name)), life, domainLife);
    }

    @Override
    public Resources on(FabricDevice found) {
        return new Resources(context, RunDevice.of(context, found), life, domainLife);
    }

    @Override
    public Resources in(ResourceScope scope) {
        Life other = life(scope, context);
        return new Resources(context, device, other, other);
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

    @Override
    public FabricDevice device() {
        return device.require();
    }

    @Override
    public Fabric fabric() {
        return device.fabric();
    }

    @Override
    public DeviceContext context() {
        return device.context();
    }

    @Override
    public ProtectionDomain protectionDomain() {
        return common(
                domainLife,
                device,
                ProtectionDomain.class,
                () -> device.context().allocateProtectionDomain());
    }

    @Override
    public CompletionChannel completionChannel() {
        return common(
                life, device, CompletionChannel.class, () -> device.context().createCompletionChannel());
    }

    @Override
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

    @Override
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

    @Override
    public MemoryRegion memory(long size, Access... access) {
        return memory(size, MemoryPlacement.ANYWHERE, access);
    }

    @Override
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

    @Override
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

    @Override
    public EventChannel eventChannel() {
        // Without a device the harness's own message would be about a missing file.
        return common(life, device, EventChannel.class, EventChannel::create);
    }

    @Override
    public CmId id(PortSpace portSpace) {
        return id(null, portSpace);
    }

    CmId id(@Nullable Object key, PortSpace portSpace) {
        return provide(key, CmId.class, () -> eventChannel().createId(portSpace));
    }

    @Override
    public Connection connection() {
        return connection(Qualifiers.connection(context));
    }

    @Override
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
