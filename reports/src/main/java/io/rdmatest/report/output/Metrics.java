package io.rdmatest.report.output;

import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.rdmatest.report.page.PortFigures;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.RunAbout;
import io.rdmatest.report.run.Tool;
import io.rdmatest.report.run.Verdict;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/**
 * A run as metrics. The form is Prometheus' text format: node_exporter's textfile collector reads that, and refuses types that only
 * OpenMetrics has.
 */
final class Metrics {

    /** Settings that choose a part of the fabric, and their labels. */
    private static final Map<String, String> PARTS = Map.of(
            "rdma.rail", "run_rail",
            "rdma.device", "run_device",
            "rdma.scenario.server", "run_server",
            "rdma.scenario.client", "run_client");

    /** Tells this run from others on every series: node_exporter keeps the first of two that have the same labels. */
    private final Labels run;

    private final List<MetricSnapshot> metrics = new ArrayList<>();

    private Metrics(RunAbout about) {
        RunAbout.FabricName name = about.fabric();
        Map<String, String> labels = new TreeMap<>(Map.of("fabric", name == null ? "" : name.name()));
        PARTS.forEach((setting, label) -> {
            String part = about.settings().get(setting);
            if (part != null) {
                labels.put(label, part);
            }
        });
        run = Labels.of(List.copyOf(labels.keySet()), List.copyOf(labels.values()));
    }

    static String of(Run run, RunPairs pairs, NodeStates nodes) throws IOException {
        Metrics made = new Metrics(run.about());
        made.add(run);
        made.add(nodes);
        made.add(pairs.ports());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrometheusTextFormatWriter.create()
                .write(bytes, new MetricSnapshots(made.metrics), EscapingScheme.UNDERSCORE_ESCAPING);
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private void add(Run run) {
        metrics.add(InfoSnapshot.builder()
                .name("rdmatest_build")
                .help("The version of rdmatest that made the last run.")
                .dataPoint(InfoSnapshot.InfoDataPointSnapshot.builder()
                        .labels(labels("version", Tool.THIS.version()))
                        .build())
                .build());
        Map<Labels, Double> outcomes = new LinkedHashMap<>();
        for (Outcome outcome : Outcome.values()) {
            outcomes.put(labels("outcome", outcome.toString()), run.outcome() == outcome ? 1.0 : 0.0);
        }
        gauge(
                "rdmatest_outcome",
                "The outcome of the last run: 1 for the one that it had, 0 for the others.",
                outcomes);
        Integer status = run.about().exitStatus();
        if (status != null) {
            gauge(
                    "rdmatest_exit_status",
                    "What ./qualify ended with; not there if a signal ended it.",
                    Map.of(labels(), (double) status));
        }
        Map<Labels, Double> results = new LinkedHashMap<>();
        for (Verdict verdict : Verdict.values()) {
            results.put(labels("result", verdict.toString()), (double) run.count(verdict));
        }
        gauge("rdmatest_scenarios", "How many scenarios of the last run had this result.", results);
        gauge(
                "rdmatest_last_run_start_timestamp_seconds",
                "When the last run began.",
                Map.of(labels(), run.began().toEpochMilli() / 1e3));
        gauge(
                "rdmatest_last_run_end_timestamp_seconds",
                "When the last run ended.",
                Map.of(labels(), run.ended().toEpochMilli() / 1e3));
        gauge(
                "rdmatest_verified_bytes",
                "How many bytes of payload the last run compared with what was sent.",
                Map.of(labels(), (double) run.scenarios().stream()
                        .mapToLong(Run.Scenario::getBytesVerified)
                        .sum()));
    }

    private void add(NodeStates nodes) {
        Map<Labels, Double> states = new LinkedHashMap<>();
        Map<Labels, Double> rails = new LinkedHashMap<>();
        for (NodeStates.Entry node : nodes.entries()) {
            put(node.state(), labels("node", node.node()), states);
            for (NodeStates.RailEntry rail : node.rails()) {
                put(rail.state(), labels("node", node.node(), "rail", rail.rail()), rails);
            }
        }
        gauge("rdmatest_node_state", "What the last run says of a node: 1 for its state, 0 for the others.", states);
        gauge(
                "rdmatest_rail_state",
                "What the last run says of a node's rail: 1 for its state, 0 for the others.",
                rails);
    }

    private static void put(NodeStates.State is, Labels whose, Map<Labels, Double> states) {
        for (NodeStates.State state : NodeStates.State.values()) {
            states.put(whose.merge(Labels.of("state", state.toString())), is == state ? 1.0 : 0.0);
        }
    }

    private void add(List<PortFigures> ports) {
        Map<Labels, Double> pairs = new LinkedHashMap<>();
        for (PortFigures port : ports) {
            pairs.put(of(port).merge(Labels.of("result", "measured")), (double) port.measured());
            pairs.put(of(port).merge(Labels.of("result", "failed")), (double) port.failed());
            pairs.put(of(port).merge(Labels.of("result", "not measured")), (double) port.notMeasured());
        }
        gauge("rdmatest_port_pairs", "How many pairs of a port, in one direction, had this result.", pairs);
        gauge(
                "rdmatest_port_bandwidth_bytes_per_second",
                "The median bandwidth of a port's pairs in one direction.",
                each(ports, port -> port.bandwidth() / 8));
        gauge(
                "rdmatest_port_messages_per_second",
                "The median message rate of a port's pairs in one direction.",
                each(ports, PortFigures::messageRate));
        gauge(
                "rdmatest_port_latency_seconds",
                "The median latency of a port's pairs in one direction.",
                each(ports, PortFigures::latencyP50));
        gauge(
                "rdmatest_port_latency_p99_seconds",
                "The median of the 99th percentiles of the latency of a port's pairs in one direction.",
                each(ports, PortFigures::latencyP99));
    }

    /** Six digits: the values were kept with seven. */
    private Map<Labels, Double> each(List<PortFigures> ports, ToDoubleFunction<PortFigures> figure) {
        Map<Labels, Double> values = new LinkedHashMap<>();
        for (PortFigures port : ports) {
            double value = figure.applyAsDouble(port);
            if (Double.isFinite(value)) {
                values.put(
                        of(port),
                        new BigDecimal(value).round(new MathContext(6)).doubleValue());
            }
        }
        return values;
    }

    private Labels of(PortFigures port) {
        return labels("node", port.node(), "rail", port.rail(), "direction", port.sending() ? "out" : "in");
    }

    private Labels labels(String... more) {
        return run.merge(Labels.of(more));
    }

    /**
     * Adds a metric.
     *
     * @param help never changes for a name: node_exporter drops the series of a file whose text differs from another file's
     */
    private void gauge(String name, String help, Map<Labels, Double> values) {
        if (values.isEmpty()) {
            return;
        }
        GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(name).help(help);
        values.forEach((labels, value) -> gauge.dataPoint(
                GaugeDataPointSnapshot.builder().labels(labels).value(value).build()));
        metrics.add(gauge.build());
    }
}
