package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.condition.RequiresKernel;
import io.rdmatest.summary.RunSummary;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.TestAbortedException;

class SkipsTests {

    @RdmaTest
    static class SkippingTestCase {
        @RdmaTest
        void peer() {
            throw new TestAbortedException(SkipReason.PEER_ABSENT.because("192.0.2.7 does not answer"));
        }

        @RdmaTest
        @RequiresKernel(min = "999")
        void kernel() {}

        @RdmaTest
        void assumed() {
            assumeTrue(false, "it is Sunday");
        }

        @RdmaTest
        void runs() {}
    }

    @Disabled("not today")
    static class DisabledTestCase {
        @Test
        void one() {}

        @Test
        void two() {}
    }

    @Test
    void allowsThemSilently() {
        Run run = Run.withoutDevice(SkippingTestCase.class);
        assertThat(run.failure("peer")).hasMessage("peer absent: 192.0.2.7 does not answer");
        assertThat(run.entries()).noneMatch(entry -> entry.containsKey(ReportKeys.SKIPPED));
        assertThat(summary("allow")).isEmpty();
    }

    @Test
    void failsThemWithTheirReason() {
        Run run = Run.withoutDevice(SkippingTestCase.class, RdmaConfiguration.SKIPS, "fail");
        assertThat(run.failed()).containsExactly("assumed()", "kernel()", "peer()");
        assertThat(run.failure("kernel"))
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith("rdma.skips=fail: unsupported by the kernel: the kernel is ");
        assertThat(run.failure("peer")).hasMessage("rdma.skips=fail: peer absent: 192.0.2.7 does not answer");
        assertThat(run.failure("assumed")).hasMessage("rdma.skips=fail: Assumption failed: it is Sunday");
    }

    @Test
    void publishesTheListAsAnEntryOfTheRun() {
        Run run = Run.withoutDevice(SkippingTestCase.class, RdmaConfiguration.SKIPS, "list");
        Map<String, String> entry = run.entries().stream()
                .filter(published -> published.containsKey(ReportKeys.SKIPPED))
                .findFirst()
                .orElseThrow();
        assertThat(entry)
                .containsEntry(ReportKeys.SKIPPED, "3")
                .containsEntry(
                        "rdma.skipped.peer absent",
                        "1: SkipsTests$SkippingTestCase > peer(): 192.0.2.7 does not answer")
                .containsEntry(
                        "rdma.skipped.without a class of reason",
                        "1: SkipsTests$SkippingTestCase > assumed(): it is Sunday")
                .containsKey("rdma.skipped.unsupported by the kernel");
    }

    @Test
    void listsAllOfThemAtTheEndByClassOfReason() {
        assertThat(summary("list").lines())
                .containsExactly(
                        "rdma.skips=list: 5 tests were skipped",
                        "  peer absent: 1",
                        "    SkipsTests$SkippingTestCase > peer(): 192.0.2.7 does not answer",
                        "  unsupported by the kernel: 1",
                        "    SkipsTests$SkippingTestCase > kernel(): the kernel is " + System.getProperty("os.version")
                                + ", and the test wants 999 or newer",
                        "  without a class of reason: 3",
                        "    SkipsTests$SkippingTestCase > assumed(): it is Sunday",
                        "    SkipsTests$DisabledTestCase > one(): not today",
                        "    SkipsTests$DisabledTestCase > two(): not today");
    }

    @Test
    void saysWhatItCouldNotFail() {
        assertThat(summary("fail").lines())
                .containsExactly(
                        "rdma.skips=fail: 2 tests were skipped that are out of the extension's reach",
                        "  without a class of reason: 2",
                        "    SkipsTests$DisabledTestCase > one(): not today",
                        "    SkipsTests$DisabledTestCase > two(): not today");
    }

    /** The engine kit has no launcher, and listeners belong to one. */
    private static String summary(String mode) {
        return summary(mode, SkippingTestCase.class, DisabledTestCase.class);
    }

    private static String summary(String mode, Class<?>... fixtures) {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        LauncherConfig config = LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .addTestExecutionListeners(new RunSummary(new PrintStream(said, true, StandardCharsets.UTF_8)))
                .build();
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(
                        Stream.of(fixtures).map(DiscoverySelectors::selectClass).toArray(DiscoverySelector[]::new))
                .configurationParameter(RdmaConfiguration.REQUIRE_DEVICE, "false")
                .configurationParameter(RdmaConfiguration.SKIPS, mode)
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter(
                        "junit.jupiter.testmethod.order.default", "org.junit.jupiter.api.MethodOrderer$MethodName")
                .build();
        LauncherFactory.create(config).execute(request);
        return said.toString(StandardCharsets.UTF_8);
    }

    static class WordsTestCase {
        @ParameterizedTest(name = "{0}")
        @EnumSource
        void skips(SkipReason reason) {
            throw new TestAbortedException(reason.because("so it is"));
        }

        @Test
        void passesUnexpectedly(TestReporter reporter) {
            reporter.publishEntry(Map.of(
                    ReportKeys.DEVIATION_OUTCOME,
                    ReportKeys.PASSED_UNEXPECTEDLY,
                    ReportKeys.DEVIATION_SOURCE,
                    "rxe.yaml:3",
                    ReportKeys.DEVIATION_REASON,
                    "it loses bytes"));
        }
    }

    /** The summary can't use the extension's constants. */
    @Test
    void theSummaryKnowsTheWordsOfTheExtension() {
        String said = summary("list", WordsTestCase.class);
        for (SkipReason reason : SkipReason.values()) {
            assertThat(said.lines()).contains("  " + reason + ": 1");
        }
        assertThat(said)
                .contains("1 test passed although a deviations file knows that it fails")
                .contains("passesUnexpectedly(TestReporter): rxe.yaml:3 says it loses bytes");
    }

    @Test
    void everyLauncherFindsTheSummary() {
        assertThat(ServiceLoader.load(TestExecutionListener.class))
                .anyMatch(listener -> listener instanceof RunSummary);
    }
}
