package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.rdmatest.ConnectionMode;
import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import org.junit.platform.testkit.engine.Events;

/**
 * The other node is another JVM of this host: what its device counts, this one's does, too. No test of the extension's, beside
 * which its fixtures would not run alone.
 */
@ExclusiveDevice
@Timeout(120)
@Tag("slow")
class CountersThereIT {

    @TempDir
    private Path folder;

    @RdmaTest(timeout = "1 min")
    @ExclusiveDevice
    static class LosingTestCase {

        @RdmaTest
        void losesItsPeer(Stage stage, FabricDevice device, MemoryRegion source) {
            lose(stage, device, source);
        }

        @RdmaTest
        @IgnoreCounters("retry_*")
        void losesItOnPurpose(Stage stage, FabricDevice device, MemoryRegion source) {
            lose(stage, device, source);
        }

        private static void lose(Stage stage, FabricDevice device, MemoryRegion source) {
            assertThat(stage.server().name()).isEqualTo("far");
            ConnectionOptions impatient = ConnectionOptions.defaults()
                    .mode(ConnectionMode.RAW)
                    .protectionDomain(source.protectionDomain())
                    .retries(1, 0);
            try (Connection connection = Connection.open(device, impatient)) {
                connection.server().queuePair().toError();
                connection.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
                assertThat(connection.client().sendQueue().awaitAny(1, Duration.ofSeconds(15)))
                        .singleElement()
                        .satisfies(completion ->
                                assertThat(completion.status()).isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR));
            }
        }
    }

    @RdmaTest(timeout = "1 min")
    static class EndedTestCase {
        @RdmaTest
        void endsTheOtherNode(Stage stage) {
            stage.server().peer().orElseThrow().close();
        }
    }

    @Test
    void failsATestOfWhichTheOtherDeviceHadToGiveUp() throws IOException {
        Events all = run(LosingTestCase.class, Map.of(RdmaConfiguration.COUNTERS, "fail"));

        assertThat(all.failed().list()).singleElement().satisfies(failed -> {
            assertThat(failed.getTestDescriptor().getDisplayName()).startsWith("losesItsPeer");
            assertThat(failure(failed))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageMatching("(?s)error counters of \\S+/1 of node far grew during losesItsPeer.*:"
                            + " retry_exceeded_err \\+1; if the test provokes that, annotate it with"
                            + " @IgnoreCounters\\(\"retry_exceeded_err\"\\).*");
        });
        assertThat(all.succeeded().list())
                .extracting(event -> event.getTestDescriptor().getDisplayName())
                .singleElement()
                .asString()
                .startsWith("losesItOnPurpose");
        assertThat(counters(all))
                .filteredOn(text -> text.startsWith("node far: "))
                .hasSize(2);
    }

    @Test
    void onlyReportsThemOnDemandAndReadsNoneWhereTheyAreOff() throws IOException {
        Events reported = run(LosingTestCase.class, Map.of(RdmaConfiguration.COUNTERS, "report"));
        assertThat(reported.failed().list()).isEmpty();
        assertThat(counters(reported))
                .filteredOn(text -> text.startsWith("node far: "))
                .hasSize(2)
                .allSatisfy(text -> assertThat(text).contains("retry_exceeded_err +1"));

        Events off = run(LosingTestCase.class, Map.of(RdmaConfiguration.COUNTERS, "off"));
        assertThat(off.failed().list()).isEmpty();
        assertThat(counters(off)).isEmpty();
    }

    @Test
    void aNodeThatEndedInTheTestIsNoFailureOfItsOwn() throws IOException {
        Events all = run(EndedTestCase.class, Map.of());

        assertThat(all.failed().list()).isEmpty();
        assertThat(all.succeeded().list()).hasSize(1);
        assertThat(counters(all)).singleElement().asString().startsWith("node far: not read, ");
    }

    private static Throwable failure(Event event) {
        return event.getRequiredPayload(TestExecutionResult.class)
                .getThrowable()
                .orElseThrow();
    }

    private static List<String> counters(Events all) {
        return all.reportingEntryPublished().list().stream()
                .map(event -> event.getRequiredPayload(ReportEntry.class)
                        .getKeyValuePairs()
                        .get(ReportKeys.COUNTERS))
                .filter(text -> text != null)
                .toList();
    }

    private Events run(Class<?> fixture, Map<String, String> keys) throws IOException {
        Path file = Files.writeString(folder.resolve("lab.yaml"), """
                fabric: lab
                nodes:
                  - name: here
                  - { name: far, launch: [env, '--'], java: same }
                """);
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("rdma.fabric", file.toString())
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameters(keys)
                .selectors(selectClass(fixture))
                .execute()
                .testEvents();
    }
}
