package io.rdmatest.report.listener;

import io.qameta.allure.Allure;
import io.qameta.allure.AllureLifecycle;
import io.qameta.allure.listener.TestLifecycleListener;
import io.qameta.allure.model.Attachment;
import io.qameta.allure.model.Label;
import io.qameta.allure.model.Link;
import io.qameta.allure.model.Parameter;
import io.qameta.allure.model.Status;
import io.qameta.allure.model.StatusDetails;
import io.qameta.allure.model.StepResult;
import io.qameta.allure.model.TestResult;
import io.rdmatest.ReportKeys;
import io.rdmatest.report.run.Measurements;
import io.rdmatest.report.run.RunReader;
import io.rdmatest.report.run.Units;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.reporting.FileEntry;

/**
 * Turns what tests publish into Allure's steps, parameters and attachments.
 *
 * <p>Allure's own listener drops published entries. This class learns from Allure's life cycle which Allure result
 * belongs to which JUnit test, so it depends neither on the order of the listeners nor on the thread that publishes.
 */
public final class AllureForwarder implements TestLifecycleListener {

    private static final Map<String, Open> BY_UNIQUE_ID = new ConcurrentHashMap<>();
    private static final Map<String, Open> BY_UUID = new ConcurrentHashMap<>();

    private static final class Open {
        final String uuid;
        final Deque<String> steps = new ArrayDeque<>();
        final Measurements measurements = new Measurements();

        Open(String uuid) {
            this.uuid = uuid;
        }
    }

    /** Creates the listener; Allure does that. */
    public AllureForwarder() {}

    @Override
    public void afterTestStart(TestResult result) {
        for (Label label : result.getLabels()) {
            if (label.getName().equals(RunReader.UNIQUE_ID_LABEL)) {
                Open open = new Open(result.getUuid());
                BY_UNIQUE_ID.put(label.getValue(), open);
                BY_UUID.put(result.getUuid(), open);
            }
        }
    }

    @Override
    public void beforeTestStop(TestResult result) {
        Open open = BY_UUID.remove(result.getUuid());
        if (open == null) {
            return;
        }
        BY_UNIQUE_ID.values().remove(open);
        synchronized (open) {
            while (!open.steps.isEmpty()) {
                endStep(open, ReportKeys.BROKEN, "the test ended before this step did");
            }
            Measurements all = open.measurements;
            all.values()
                    .forEach((name, value) -> result.getParameters()
                            .add(new Parameter()
                                    .setName(name)
                                    .setValue(Units.text(value.value(), value.unit()))
                                    // What was measured differs from run to run and must not change the history's key.
                                    .setExcluded(true)));
            if (!all.isEmpty()) {
                result.getAttachments().add(write("measurements", "text/csv", ".csv", all.toCsv()));
            }
            if (!all.warnings().isEmpty()) {
                result.getAttachments()
                        .add(write("warnings", "text/plain", ".txt", String.join("\n", all.warnings()) + "\n"));
            }
            if (!all.throughput().isEmpty()) {
                result.getAttachments()
                        .add(write(
                                "throughput by size",
                                "image/svg+xml",
                                ".svg",
                                Charts.throughput("Throughput by transfer size", all.throughput())));
                result.getAttachments()
                        .add(write(
                                "throughput by size, table",
                                "text/csv",
                                ".csv",
                                Charts.throughputCsv(all.throughput())));
            }
        }
    }

    static void published(String uniqueId, Map<String, String> entry) {
        Open open = BY_UNIQUE_ID.get(uniqueId);
        if (open == null) {
            return;
        }
        synchronized (open) {
            open.measurements.add(entry);
            AllureLifecycle lifecycle = Allure.getLifecycle();
            String step = entry.get(ReportKeys.STEP);
            if (step != null) {
                String event = entry.getOrDefault(ReportKeys.STEP_EVENT, ReportKeys.START);
                if (event.equals(ReportKeys.START)) {
                    String uuid = UUID.randomUUID().toString();
                    String parent = open.steps.isEmpty() ? open.uuid : open.steps.peek();
                    lifecycle.startStep(parent, uuid, new StepResult().setName(step));
                    open.steps.push(uuid);
                } else if (!open.steps.isEmpty()) {
                    endStep(open, event, entry.get(ReportKeys.STEP_MESSAGE));
                }
            }
            String parameter = entry.get(ReportKeys.PARAMETER);
            if (parameter != null) {
                lifecycle.updateTestCase(
                        open.uuid,
                        result -> result.getParameters()
                                .add(new Parameter()
                                        .setName(parameter)
                                        .setValue(entry.getOrDefault(ReportKeys.VALUE, ""))));
            }
            String label = entry.get(ReportKeys.LABEL);
            if (label != null && RunReader.isFree(label)) {
                lifecycle.updateTestCase(open.uuid, result -> {
                    // Allure names the suite after the class. The test's own label replaces that.
                    result.getLabels().removeIf(old -> old.getName().equals(label));
                    result.getLabels()
                            .add(new Label().setName(label).setValue(entry.getOrDefault(ReportKeys.VALUE, "")));
                });
            }
            String deviation = entry.get(ReportKeys.DEVIATION);
            if (deviation != null) {
                lifecycle.updateTestCase(open.uuid, result -> {
                    result.getLabels()
                            .add(new Label()
                                    .setName("tag")
                                    .setValue("deviation " + deviation + ": "
                                            + entry.getOrDefault(ReportKeys.DEVIATION_OUTCOME, "")));
                    result.getLinks()
                            .add(new Link()
                                    .setName(entry.getOrDefault(ReportKeys.DEVIATION_REASON, deviation))
                                    .setUrl(entry.getOrDefault(ReportKeys.DEVIATION_LINK, ""))
                                    .setType("issue"));
                });
            }
            String histogramName = entry.get(ReportKeys.HISTOGRAM);
            Histogram histogram = histogramName == null ? null : readable(entry);
            if (histogramName != null && histogram != null) {
                String unit = entry.getOrDefault(ReportKeys.UNIT, "ns");
                attach(
                        open,
                        write(
                                histogramName + ", distribution",
                                "image/svg+xml",
                                ".svg",
                                Charts.latency(histogramName, unit, histogram)));
                attach(
                        open,
                        write(
                                histogramName + ", percentiles",
                                "text/csv",
                                ".csv",
                                Charts.percentilesCsv(unit, histogram)));
            }
            String attachment = entry.get(ReportKeys.ATTACHMENT);
            if (attachment != null) {
                String type = entry.getOrDefault(ReportKeys.ATTACHMENT_TYPE, "text/plain");
                attach(
                        open,
                        write(attachment, type, extension(type), entry.getOrDefault(ReportKeys.ATTACHMENT_DATA, "")));
            }
        }
    }

    /** Returns the histogram of an entry; null if it can't be read, in which case the measurements warn. */
    private static @Nullable Histogram readable(Map<String, String> entry) {
        try {
            return Measurements.histogram(entry);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    static void published(String uniqueId, FileEntry file) throws IOException {
        Open open = BY_UNIQUE_ID.get(uniqueId);
        if (open == null || !Files.isRegularFile(file.getPath())) {
            return;
        }
        String name = String.valueOf(file.getPath().getFileName());
        int dot = name.lastIndexOf('.');
        synchronized (open) {
            attach(
                    open,
                    write(
                            name,
                            file.getMediaType().orElse("application/octet-stream"),
                            dot < 0 ? "" : name.substring(dot),
                            Files.readAllBytes(file.getPath())));
        }
    }

    private static void endStep(Open open, String event, @Nullable String message) {
        String uuid = open.steps.pop();
        AllureLifecycle lifecycle = Allure.getLifecycle();
        lifecycle.updateStep(uuid, result -> {
            result.setStatus(
                    switch (event) {
                        case ReportKeys.PASSED -> Status.PASSED;
                        case ReportKeys.FAILED -> Status.FAILED;
                        default -> Status.BROKEN;
                    });
            if (message != null) {
                result.setStatusDetails(new StatusDetails().setMessage(message));
            }
        });
        lifecycle.stopStep(uuid);
    }

    private static void attach(Open open, Attachment attachment) {
        AllureLifecycle lifecycle = Allure.getLifecycle();
        if (open.steps.isEmpty()) {
            lifecycle.updateTestCase(
                    open.uuid, result -> result.getAttachments().add(attachment));
        } else {
            lifecycle.updateStep(
                    open.steps.peek(), result -> result.getAttachments().add(attachment));
        }
    }

    private static Attachment write(String name, String type, String extension, String text) {
        return write(name, type, extension, text.getBytes(StandardCharsets.UTF_8));
    }

    private static Attachment write(String name, String type, String extension, byte[] data) {
        String source = UUID.randomUUID() + "-attachment" + extension;
        Allure.getLifecycle().writeAttachment(source, new ByteArrayInputStream(data));
        return new Attachment().setName(name).setType(type).setSource(source);
    }

    private static String extension(String type) {
        return switch (type) {
            case "image/svg+xml" -> ".svg";
            case "application/json" -> ".json";
            case "text/csv" -> ".csv";
            case "text/html" -> ".html";
            default -> ".txt";
        };
    }
}
