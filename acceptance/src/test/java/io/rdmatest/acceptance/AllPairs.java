package io.rdmatest.acceptance;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.rdmatest.ReportKeys;
import io.rdmatest.report.culprits.Culprits;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.report.culprits.PairsReader;
import io.rdmatest.scenarios.PairScenarios;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The scenario of {@code ./qualify --pairs}, and what it reports. */
final class AllPairs implements TestExecutionListener {

    final Map<String, String> counts = new HashMap<>();
    List<PairLine> lines = List.of();

    @Nullable
    Culprits culprits;

    String matrix = "";

    @Nullable
    Throwable failure;

    /** Measures all pairs of a fabric by its name. */
    static AllPairs measure(String fabric) {
        AllPairs pairs = new AllPairs();
        Path file = Path.of("/tmp/pairs.jsonl");
        long begin = System.nanoTime();
        LauncherFactory.create(LauncherConfig.builder()
                        .enableTestExecutionListenerAutoRegistration(false)
                        .build())
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectClass(PairScenarios.class))
                                .configurationParameter("rdma.fabric", fabric)
                                .configurationParameter("rdma.pairs", "true")
                                .configurationParameter("rdma.pairs.file", file.toString())
                                .configurationParameter("rdma.counters", "fail")
                                .build(),
                        pairs);
        System.out.println("  all pairs took " + (System.nanoTime() - begin) / 1_000_000 + " ms, failure: "
                + pairs.failure + System.lineSeparator() + pairs.matrix.indent(4));
        try {
            pairs.lines = new PairsReader().read(file);
            pairs.culprits = Culprits.of(PairMatrix.read(List.of(file)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return pairs;
    }

    PairLine last(String from, String to) {
        return lines.stream()
                .filter(line -> line.from().equals(from) && line.to().equals(to))
                .reduce((first, second) -> second)
                .orElseThrow();
    }

    @Override
    public void reportingEntryPublished(TestIdentifier test, ReportEntry entry) {
        Map<String, String> keys = entry.getKeyValuePairs();
        if (keys.containsKey(ReportKeys.MEASUREMENT)) {
            counts.put(keys.get(ReportKeys.MEASUREMENT), keys.get(ReportKeys.VALUE));
        } else if (keys.containsKey(ReportKeys.ATTACHMENT)) {
            matrix = keys.get(ReportKeys.ATTACHMENT_DATA);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        result.getThrowable().ifPresent(thrown -> failure = thrown);
    }
}
