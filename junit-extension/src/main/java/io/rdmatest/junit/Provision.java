package io.rdmatest.junit;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AtomicCapability;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Executable;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.platform.commons.support.AnnotationSupport;

/** Provides the resource that one parameter asks for. */
final class Provision {

    private static final Set<Class<?>> TYPES = Set.of(
            FabricDevice.class,
            DeviceContext.class,
            ProtectionDomain.class,
            CompletionChannel.class,
            CompletionQueue.class,
            QueuePair.class,
            MemoryRegion.class,
            EventChannel.class,
            CmId.class,
            SharedReceiveQueue.class,
            Connection.class);

    /** The annotations that mean something on one type only. */
    private static final Map<Class<? extends Annotation>, Class<?>> BELONGS_TO = Map.of(
            Registered.class, MemoryRegion.class,
            QueuePairSpec.class, QueuePair.class,
            CompletionQueueSpec.class, CompletionQueue.class,
            SharedReceiveQueueSpec.class, SharedReceiveQueue.class,
            OnPortSpace.class, CmId.class);

    /** The one of its type in a life that every parameter gets which asks for it. */
    private record Common(Class<?> type) {}

    /** The resource of one parameter. */
    private record Own(Executable executable, int index) {}

    private record Numbered(int number) {}

    private final ParameterContext context;
    private final Parameter parameter;
    private final Life life;
    private final RunDevice device;
    private final ExtensionContext extensionContext;

    Provision(ParameterContext context, ExtensionContext extensionContext) {
        this.context = context;
        this.parameter = context.getParameter();
        this.extensionContext = extensionContext;
        this.life = isOfClass(parameter) ? Life.ofClass(extensionContext) : Life.of(extensionContext);
        this.device = RunDevice.of(extensionContext);
    }

    static boolean supports(ParameterContext context) {
        // A misplaced annotation gets a message of its own instead of JUnit's "no resolver".
        return TYPES.contains(context.getParameter().getType())
                || BELONGS_TO.keySet().stream().anyMatch(context::isAnnotated);
    }

    Object resolve() {
        Class<?> type = parameter.getType();
        BELONGS_TO.forEach((annotation, owner) -> {
            if (context.isAnnotated(annotation) && owner != type) {
                throw new ParameterResolutionException("@" + annotation.getSimpleName() + " belongs on a "
                        + owner.getSimpleName() + " parameter, and " + where() + " is a " + type.getSimpleName());
            }
        });
        if (type == FabricDevice.class) {
            return device.require();
        }
        if (type == DeviceContext.class) {
            return device.context();
        }
        if (type == ProtectionDomain.class) {
            return protectionDomain(life);
        }
        if (type == CompletionChannel.class) {
            return completionChannel();
        }
        if (type == CompletionQueue.class) {
            return completionQueue();
        }
        if (type == QueuePair.class) {
            return queuePair();
        }
        if (type == MemoryRegion.class) {
            return memoryRegion();
        }
        if (type == EventChannel.class) {
            return eventChannel();
        }
        if (type == CmId.class) {
            return cmId();
        }
        if (type == SharedReceiveQueue.class) {
            return sharedReceiveQueue();
        }
        return connection(ordinal(Connection.class));
    }

    private static boolean isOfClass(Parameter parameter) {
        return AnnotationSupport.findAnnotation(parameter, Scoped.class)
                .filter(scoped -> scoped.value() == ResourceScope.CLASS)
                .isPresent();
    }

    private Own own() {
        return new Own(context.getDeclaringExecutable(), context.getIndex());
    }

    private ProtectionDomain protectionDomain(Life owner) {
        return owner.provide(
                new Common(ProtectionDomain.class),
                ProtectionDomain.class,
                () -> device.context().allocateProtectionDomain());
    }

    /** The protection domain that the parameter's resource is built on. */
    private ProtectionDomain protectionDomain() {
        for (Parameter other : context.getDeclaringExecutable().getParameters()) {
            if (other.getType() == ProtectionDomain.class && isOfClass(other)) {
                return protectionDomain(Life.ofClass(extensionContext));
            }
        }
        return protectionDomain(life);
    }

    private CompletionChannel completionChannel() {
        return life.provide(
                new Common(CompletionChannel.class),
                CompletionChannel.class,
                () -> device.context().createCompletionChannel());
    }

    private CompletionQueue completionQueue() {
        Optional<CompletionQueueSpec> spec = context.findAnnotation(CompletionQueueSpec.class);
        int entries = atLeastOne(
                CompletionQueueSpec.class,
                "entries",
                spec.map(CompletionQueueSpec::entries).orElse(64));
        boolean events = spec.map(CompletionQueueSpec::events).orElse(false);
        return life.provide(
                own(),
                CompletionQueue.class,
                () -> events
                        ? device.context().createCompletionQueue(entries, completionChannel())
                        : device.context().createCompletionQueue(entries));
    }

    private MemoryRegion memoryRegion() {
        Optional<Registered> annotation = context.findAnnotation(Registered.class);
        String text = annotation.map(Registered::size).orElse("4KiB");
        long size;
        try {
            size = Quantity.bytes(text);
        } catch (IllegalArgumentException e) {
            throw new ParameterResolutionException("@Registered(size) on " + where() + ": " + e.getMessage(), e);
        }
        Access[] access = annotation.map(Registered::access).orElse(new Access[0]);
        return life.provide(
                own(),
                MemoryRegion.class,
                () -> protectionDomain().registerMemory(size, access.length > 0 ? access : allAccess()));
    }

    private Access[] allAccess() {
        List<Access> access = new ArrayList<>(List.of(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ));
        if (device.attributes().atomicCapability() != AtomicCapability.NONE) {
            access.add(Access.REMOTE_ATOMIC);
        }
        return access.toArray(Access[]::new);
    }

    private EventChannel eventChannel() {
        return life.provide(new Common(EventChannel.class), EventChannel.class, () -> {
            // Without a device the harness's own message would be about a missing file.
            FabricDevice ignored = device.require();
            return EventChannel.create();
        });
    }

    private CmId cmId() {
        PortSpace portSpace = context.findAnnotation(OnPortSpace.class)
                .map(OnPortSpace::value)
                .orElse(PortSpace.TCP);
        return life.provide(own(), CmId.class, () -> eventChannel().createId(portSpace));
    }

    private SharedReceiveQueue sharedReceiveQueue() {
        Optional<SharedReceiveQueueSpec> spec = context.findAnnotation(SharedReceiveQueueSpec.class);
        int maxWr = atLeastOne(
                SharedReceiveQueueSpec.class,
                "maxWr",
                spec.map(SharedReceiveQueueSpec::maxWr).orElse(64));
        int maxSge = atLeastOne(
                SharedReceiveQueueSpec.class,
                "maxSge",
                spec.map(SharedReceiveQueueSpec::maxSge).orElse(1));
        return life.provide(
                own(), SharedReceiveQueue.class, () -> protectionDomain().createSharedReceiveQueue(maxWr, maxSge));
    }

    private QueuePair queuePair() {
        Optional<QueuePairSpec> spec = context.findAnnotation(QueuePairSpec.class);
        return spec.isPresent() ? queuePair(spec.get()) : sideOfConnection();
    }

    private QueuePair queuePair(QueuePairSpec spec) {
        int sends = atLeastOne(QueuePairSpec.class, "maxSendWr", spec.maxSendWr());
        int receives = atLeastOne(QueuePairSpec.class, "maxReceiveWr", spec.maxReceiveWr());
        QpType type = spec.type();
        return life.provide(own(), QueuePair.class, () -> {
            record Queue(Own of, String name) {}
            CompletionQueue sendQueue = life.provide(
                    new Queue(own(), "send"),
                    CompletionQueue.class,
                    () -> device.context().createCompletionQueue(sends));
            CompletionQueue receiveQueue = life.provide(
                    new Queue(own(), "receive"),
                    CompletionQueue.class,
                    () -> device.context().createCompletionQueue(receives));
            return protectionDomain()
                    .createQueuePair(QueuePairAttributes.builder(type)
                            .sendQueue(sendQueue)
                            .receiveQueue(receiveQueue)
                            .maxSendWr(sends)
                            .maxReceiveWr(receives)
                            .maxInline(spec.maxInline())
                            .build());
        });
    }

    /** Two queue pairs without further words are the client and the server of one connection. */
    private QueuePair sideOfConnection() {
        List<Parameter> pair = new ArrayList<>();
        for (Parameter other : context.getDeclaringExecutable().getParameters()) {
            if (other.getType() == QueuePair.class
                    && AnnotationSupport.findAnnotation(other, QueuePairSpec.class)
                            .isEmpty()) {
                pair.add(other);
            }
        }
        if (pair.size() != 2) {
            throw new ParameterResolutionException(where() + " is one of " + pair.size()
                    + " QueuePair parameters without annotation: either ask for two, the client and the server of one"
                    + " connection, or for an unconnected one with @QueuePairSpec");
        }
        boolean swapped = pair.getFirst().isNamePresent()
                && pair.getFirst().getName().equals("server")
                && pair.getLast().getName().equals("client");
        boolean client = pair.getFirst().equals(parameter) != swapped;
        Connection connection = connection(0);
        return (client ? connection.client() : connection.server()).queuePair();
    }

    /** The connections of a life are numbered, so that a lifecycle method and the test can ask for the same. */
    private Connection connection(int number) {
        ConnectionMode mode = mode();
        FabricDevice on = device.require();
        return life.provide(
                new Numbered(number),
                Connection.class,
                () -> Connection.open(
                        on, ConnectionOptions.defaults().mode(mode).protectionDomain(protectionDomain())));
    }

    private ConnectionMode mode() {
        Optional<ConnectedBy> found = context.findAnnotation(ConnectedBy.class);
        AnnotatedElement executable = context.getDeclaringExecutable();
        if (found.isEmpty()) {
            found = AnnotationSupport.findAnnotation(executable, ConnectedBy.class);
        }
        for (Optional<ExtensionContext> current = Optional.of(extensionContext);
                found.isEmpty() && current.isPresent();
                current = current.get().getParent()) {
            found = current.get().getElement().flatMap(e -> AnnotationSupport.findAnnotation(e, ConnectedBy.class));
        }
        return found.map(ConnectedBy::value).orElse(ConnectionMode.RDMA_CM);
    }

    private int ordinal(Class<?> type) {
        int ordinal = 0;
        Parameter[] parameters = context.getDeclaringExecutable().getParameters();
        for (int i = 0; i < context.getIndex(); i++) {
            if (parameters[i].getType() == type) {
                ordinal++;
            }
        }
        return ordinal;
    }

    private int atLeastOne(Class<? extends Annotation> annotation, String member, int value) {
        if (value < 1) {
            throw new ParameterResolutionException("@" + annotation.getSimpleName() + "(" + member + ") on " + where()
                    + " is " + value + ", and must be at least 1");
        }
        return value;
    }

    private String where() {
        Executable executable = context.getDeclaringExecutable();
        return "parameter " + parameter.getName() + " of "
                + executable.getDeclaringClass().getSimpleName() + "." + executable.getName();
    }
}
