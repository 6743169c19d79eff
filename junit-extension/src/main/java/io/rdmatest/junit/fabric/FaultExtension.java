package io.rdmatest.junit.fabric;

import io.rdmatest.Closer;
import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import io.rdmatest.junit.Quantity;
import io.rdmatest.junit.engine.Configuration;
import io.rdmatest.junit.engine.RequirementCondition;
import io.rdmatest.junit.engine.RunDevice;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.MediaType;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Injects what {@link Fault @Fault} asks for before a test, and ends it after the test. */
final class FaultExtension extends RequirementCondition<Fault> implements AfterEachCallback {

    private static final String FILE = "fault-statistics.txt";

    private static final Duration LEAST = Duration.ofMinutes(30);

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(FaultExtension.class);

    /** The faults of one test; the store closes them if the test did not get as far. */
    @SuppressWarnings("deprecation") // as with Life
    private static final class Injected implements AutoCloseable, ExtensionContext.Store.CloseableResource {

        private final Deque<ActiveFault> faults = new ArrayDeque<>();

        @Override
        public void close() {
            try (Closer closer = new Closer()) {
                faults.forEach(fault -> closer.run(fault::close));
            }
        }
    }

    FaultExtension() {
        super(Fault.class, true);
    }

    @Override
    protected List<Lack> lacks(Fault fault, ExtensionContext place, ExtensionContext test) {
        Fabric fabric = RunDevice.of(test).fabric();
        read(fault, place);
        nodes(fault, fabric, place);
        return fabric.faultsAllowed() ? List.of() : List.of(Lack.of(SkipReason.NOT_PERMITTED, Faults.refusal(fabric)));
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        super.beforeEach(context);
        Fault wanted = nearest(context);
        if (wanted == null) {
            return;
        }
        Injected injected = new Injected();
        // Before the first one is there: whatever happens to the second, the first must end.
        context.getStore(NAMESPACE).put(Injected.class, injected);
        RunDevice device = RunDevice.of(context);
        Fabric fabric = device.fabric();
        NetworkFault fault = read(wanted, context);
        Duration time = time(Configuration.of(context).timeout().duration());
        for (Node node : nodes(wanted, fabric, context)) {
            injected.faults.push(Faults.on(fabric).network(met(node, device.require()), fault, time));
            context.publishReportEntry(
                    Map.of(ReportKeys.PARAMETER, "fault on " + node.name(), ReportKeys.VALUE, fault.toString()));
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Injected injected = context.getStore(NAMESPACE).remove(Injected.class, Injected.class);
        if (injected == null) {
            return;
        }
        try {
            injected.close();
        } finally {
            List<String> lines = injected.faults.reversed().stream()
                    .flatMap(fault -> Stream.concat(
                            Stream.of("node " + fault.node().name() + ": " + fault.what()),
                            fault.statistics().stream().map(line -> "  " + line)))
                    .toList();
            publish(context, lines);
        }
    }

    /**
     * Returns after which time a fault ends by itself: only if nobody is left who could end it. Set-up, test and clean-up have
     * the time limit each.
     */
    static Duration time(Duration limit) {
        return limit.compareTo(LEAST.dividedBy(3)) <= 0 ? LEAST : Faults.MOST;
    }

    private static void publish(ExtensionContext context, List<String> lines) {
        try {
            context.publishFile(FILE, MediaType.TEXT_PLAIN_UTF_8, path -> Files.write(path, lines));
        } catch (RuntimeException e) {
            // What became of the test must not be lost because the disk is full.
            System.err.println(FILE + " could not be written: " + e.getMessage());
        }
    }

    /** The test may be on another device of its node than the fabric's file names, or leave that open. */
    private static NodePort met(Node node, FabricDevice device) {
        return node.name().equals(device.node().name())
                ? new NodePort(node, device.rail()).onPort(device.device().name(), device.port())
                : node.port();
    }

    private static @Nullable Fault nearest(ExtensionContext context) {
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            Optional<Fault> found = current.get()
                    .getElement()
                    .flatMap(element -> AnnotationSupport.findAnnotation(element, Fault.class));
            if (found.isPresent()) {
                return found.get();
            }
        }
        return null;
    }

    private NetworkFault read(Fault fault, ExtensionContext context) {
        NetworkFault read;
        try {
            read = new NetworkFault(
                    fault.loss(),
                    duration(fault.delay()),
                    duration(fault.jitter()),
                    fault.duplicate(),
                    fault.reorder(),
                    fault.corrupt());
        } catch (IllegalArgumentException e) {
            throw wrong(context, "", String.valueOf(e.getMessage()));
        }
        if (!read.isAny()) {
            throw wrong(context, "", "it does nothing; give loss, delay, duplicate, reorder or corrupt");
        }
        return read;
    }

    private static Duration duration(String text) {
        return text.isBlank() ? Duration.ZERO : Quantity.duration(text);
    }

    private List<Node> nodes(Fault fault, Fabric fabric, ExtensionContext context) {
        if (fault.nodes().length == 0) {
            return fabric.nodes();
        }
        try {
            return Arrays.stream(fault.nodes()).map(fabric::nodeNamed).toList();
        } catch (FabricException e) {
            throw wrong(context, "nodes", String.valueOf(e.getMessage()));
        }
    }
}
