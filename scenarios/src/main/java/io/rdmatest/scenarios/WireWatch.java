package io.rdmatest.scenarios;

import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.wire.WireCapture;
import io.rdmatest.wire.WireJudge;
import io.rdmatest.wire.WireReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.junit.jupiter.api.MediaType;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** What passes the interface of this node during one scenario: captured, judged, and attached if the scenario fails. */
final class WireWatch implements AutoCloseable {

    private static final Namespace NAMESPACE = Namespace.create(WireWatch.class);
    private static final String CAPTURE = "wire.pcap";
    private static final String REPORT = "wire.txt";
    private static final MediaType PCAP = MediaType.create("application", "vnd.tcpdump.pcap");

    private final WireCapture capture;
    private final Path file;
    private final String networkInterface;
    private final Stage stage;

    private WireWatch(WireCapture capture, Path file, String networkInterface, Stage stage) {
        this.capture = capture;
        this.file = file;
        this.networkInterface = networkInterface;
        this.stage = stage;
    }

    /**
     * Begins, for the test of a context; the store ends it if nothing else does.
     *
     * @throws IllegalStateException if nothing of the stage can be seen from this host
     */
    static void begin(ExtensionContext context, Stage stage) {
        requireInSight(
                stage.here().name(), stage.server().name(), stage.client().name());
        FabricDevice device = stage.here().local().orElseThrow();
        String networkInterface = WireCapture.interfaceOf(device.device().name());
        try {
            Path file = Files.createTempFile("rdmatest-", ".pcap");
            try {
                WireWatch watch =
                        new WireWatch(WireCapture.start(networkInterface, file), file, networkInterface, stage);
                context.getStore(NAMESPACE).put(WireWatch.class, watch);
            } catch (IOException | RuntimeException | Error e) {
                Files.deleteIfExists(file);
                throw e;
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The packets of " + networkInterface + " can't be captured", e);
        }
    }

    /**
     * Ends and judges it, if it was begun.
     *
     * @throws AssertionError if packets break the rules, in a test that would have passed
     * @throws IllegalStateException if there were no packets, in such a test that did not say so: then nothing was judged
     */
    static void end(ExtensionContext context) {
        WireWatch watch = context.getStore(NAMESPACE).remove(WireWatch.class, WireWatch.class);
        if (watch == null) {
            return;
        }
        boolean failed = context.getExecutionException().isPresent();
        try (watch) {
            WireReport report = WireJudge.judge(watch.capture.stop());
            String silence = wire(context).silence();
            context.publishReportEntry(Map.of(
                    ReportKeys.PARAMETER,
                    "wire",
                    ReportKeys.VALUE,
                    silence != null && report.packets() == 0
                            ? "no packet: " + silence
                            : "%d packets, %d of them judged, %d retransmissions, %d violations"
                                    .formatted(
                                            report.packets(),
                                            report.judged(),
                                            report.retransmissions(),
                                            report.violations().size())));
            context.publishFile(REPORT, MediaType.TEXT_PLAIN_UTF_8, path -> Files.writeString(path, report.text()));
            if (failed || !report.isClean()) {
                context.publishFile(
                        CAPTURE, PCAP, path -> Files.copy(watch.file, path, StandardCopyOption.REPLACE_EXISTING));
            }
            // A test that failed says why by itself, and its packets may well be a consequence.
            if (!failed) {
                if (silence == null) {
                    requireSeen(
                            report,
                            watch.networkInterface,
                            watch.stage.server().name(),
                            watch.stage.client().name());
                }
                report.requireClean();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The packets on the wire can't be judged", e);
        }
    }

    /** Returns what the test of a context says of its packets. */
    static Wire wire(ExtensionContext context) {
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(Wire.class, type -> new Wire(), Wire.class);
    }

    /** Of what passes between two other nodes, this one sees nothing, and would call it clean. */
    static void requireInSight(String here, String server, String client) {
        if (!here.equals(server) && !here.equals(client)) {
            throw new IllegalStateException(
                    "The wire between the server on node %s and the client on node %s can't be watched: packets are captured on node %s"
                            .formatted(server, client, here));
        }
    }

    /**
     * Demands that something was judged: packets that are not RDMA traffic, such as ARP, judge nothing.
     *
     * @throws IllegalStateException if the packets between the two nodes took another way than the one that was watched
     */
    static void requireSeen(WireReport report, String networkInterface, String server, String client) {
        if (report.judged() == 0 && report.groups().isEmpty() && !server.equals(client)) {
            throw new IllegalStateException(
                    "Not one RoCE packet was captured on %s between the server on node %s and the client on node %s: nothing was judged"
                            .formatted(networkInterface, server, client));
        }
    }

    @Override
    public void close() throws IOException {
        try {
            capture.close();
        } finally {
            Files.deleteIfExists(file);
        }
    }
}
