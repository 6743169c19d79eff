package io.rdmatest.scenarios.runner;

import io.rdmatest.ReportKeys;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.report.run.Journal;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.ReportConfiguration;
import io.rdmatest.report.run.ScenarioNames;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * The JVM in which scenarios run: on this host where it has an RDMA device, else in the virtual machine.
 *
 * <p>It reports its progress in the journal, which it repeats on standard output.
 */
public final class ScenarioRunner {

    static final String SCENARIOS = "io.rdmatest.scenarios";

    /** System property: the package whose classes are the scenarios. */
    public static final String PACKAGE = "rdma.scenarios.package";

    /** System property: whether to continue the run of the existing journals. */
    public static final String GO_ON = "rdma.scenarios.go-on";

    /** System property: whether another process holds this JVM's standard input open. This JVM then ends when the input ends. */
    public static final String HELD = "rdma.scenarios.held";

    static final int TROUBLE = 3;

    /** Bytes that the largest scenario keeps registered at once. */
    private static final long LARGEST_BUFFER = 4L << 20;

    private ScenarioRunner() {}

    /**
     * Runs the scenarios that match a pattern, or what is left of them.
     *
     * @param args the patterns; none for all scenarios
     */
    public static void main(String[] args) {
        int status = 0;
        if (Boolean.getBoolean(HELD)) {
            Thread.ofPlatform().name("rdma-held").daemon().start(ScenarioRunner::endWhenLetGo);
        }
        try {
            preflight();
            if (System.getProperty(PACKAGE) == null) {
                WhatDiffers.gather();
            }
            // Before this JVM has a journal of its own.
            EarlierJvms earlier = Boolean.getBoolean(GO_ON)
                    ? EarlierJvms.of(Journal.read(ReportConfiguration.directory()))
                    : EarlierJvms.NOTHING;
            EarlierJvmsCondition.leaveOut(earlier);
            Selection selection = select(Arrays.asList(args));
            SelectedCondition.select(selection);
            LauncherFactory.create().execute(request(selection, earlier));
        } catch (IOException | RuntimeException | LinkageError e) {
            status = TROUBLE;
            trouble(e);
        }
        // Ends the JVM even if a scenario has left a thread that is stuck in a native call.
        System.exit(status);
    }

    /** Ends this JVM and the programs that it has started when its starter was killed, because no other process would. */
    private static void endWhenLetGo() {
        try {
            // Nothing is ever written to it.
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            // An error means the end of the input, too.
        }
        MarkedProcesses.ofThisRun().end();
        // At once: the scenario that is under way may be stuck in a native call.
        Runtime.getRuntime().halt(TROUBLE);
    }

    /**
     * Finds the device, registers as much memory as a scenario needs, and reaches the connection manager, once. So a wrong name or
     * a low limit causes one message instead of one for each scenario. The journal begins with what was found.
     */
    private static void preflight() throws IOException {
        if (System.getProperty(PACKAGE) == null) {
            FabricDevice device = Fabric.load().local().resolve();
            try (Journal journal = new Journal(ReportConfiguration.directory(), ReportConfiguration.progress())) {
                Map<String, String> entry = new LinkedHashMap<>();
                device.environment().forEach((key, value) -> entry.put(ReportKeys.ENVIRONMENT_PREFIX + key, value));
                journal.write(JournalEvent.of(JournalEvent.Kind.ENTRY).withEntry(entry));
            }
            try (DeviceContext context = device.open();
                    ProtectionDomain protectionDomain = context.allocateProtectionDomain();
                    MemoryRegion region = protectionDomain.registerMemory(LARGEST_BUFFER, Access.LOCAL_WRITE)) {
                region.fill((byte) 0);
                // Its file may be missing beside that of the device.
                EventChannel.create().close();
            }
        }
    }

    private static void trouble(Throwable e) {
        Throwable cause = e;
        while ((cause.getMessage() == null || cause instanceof ExceptionInInitializerError)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        String message = cause.getMessage() == null ? cause.toString() : cause.getMessage();
        try (Journal journal = new Journal(ReportConfiguration.directory(), true)) {
            journal.write(JournalEvent.trouble(message));
        } catch (IOException io) {
            System.err.println(message);
        }
    }

    /**
     * Finds the selected scenarios. Needs no device.
     *
     * @param patterns as {@link Selection#Selection} says
     */
    public static Selection select(List<String> patterns) {
        Selection selection = new Selection(patterns);
        return selection.isEverything()
                ? selection
                : selection.resolve(LauncherFactory.create().discover(request(Selection.ALL, EarlierJvms.NOTHING)));
    }

    private static LauncherDiscoveryRequest request(Selection selection, EarlierJvms earlier) {
        PostDiscoveryFilter selected =
                descriptor -> FilterResult.includedIf(!(descriptor.getSource().orElse(null) instanceof MethodSource)
                        || selection.includesMethod(descriptor.getUniqueId().toString()));
        return LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectPackage(System.getProperty(PACKAGE, SCENARIOS)))
                .filters(ClassNameFilter.includeClassNamePatterns(".*Scenarios"))
                .filters(selected, notBegun(earlier))
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
                .configurationParameter("junit.jupiter.testclass.order.default", PhaseOrder.class.getName())
                .build();
    }

    private static PostDiscoveryFilter notBegun(EarlierJvms earlier) {
        return descriptor -> FilterResult.includedIf(
                !earlier.contains(descriptor.getUniqueId().toString()));
    }

    /** Lists what would run, by class and method, in the order of a run; needs no device. */
    public static List<String> list(List<String> patterns) {
        return list(select(patterns));
    }

    /** Lists the methods of a selection that would run. */
    public static List<String> list(Selection selection) {
        TestPlan plan = LauncherFactory.create().discover(request(selection, EarlierJvms.NOTHING));
        List<String> names = new ArrayList<>();
        for (TestIdentifier root : plan.getRoots()) {
            for (TestIdentifier identifier : plan.getDescendants(root)) {
                if (identifier.getSource().orElse(null) instanceof MethodSource source) {
                    names.add("%-52s %s"
                            .formatted(
                                    ScenarioNames.simpleName(source.getClassName()) + "." + source.getMethodName(),
                                    ScenarioNames.name(plan, identifier)));
                }
            }
        }
        return names;
    }
}
