package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.rdmatest.ReportKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/** Known deviations of soft-RoCE: expected, unexpected, and passed. */
@ExclusiveDevice
class DeviationsIT {

    @RdmaTest
    static class DeviatingTestCase {
        @RdmaTest
        @DeviationKey("known")
        void known() {
            throw new AssertionError("status 7 of the known kind");
        }

        @RdmaTest
        @DeviationKey("known")
        void other() {
            throw new AssertionError("quite another failure");
        }

        @RdmaTest
        @DeviationKey("known")
        void passes() {}

        @RdmaTest
        void hangs() {
            throw new IllegalStateException("it was run");
        }

        @RdmaTest
        @DeviationKey("elsewhere")
        void elsewhere() {
            throw new AssertionError("status 7 of the known kind");
        }

        @ParameterizedTest(name = "size {0}")
        @ValueSource(ints = {1, 2})
        void sizes(int size) {
            if (size == 2) {
                throw new AssertionError("wrong size");
            }
        }

        @TestFactory
        List<DynamicTest> made() {
            return List.of(dynamicTest("good", () -> {}), dynamicTest("bad", () -> {
                throw new AssertionError("bad luck");
            }));
        }
    }

    private static String file(Path folder) throws IOException {
        return Files.writeString(folder.resolve("lab.yaml"), """
                        deviations:
                          - key: known
                            provider: rdma_rxe
                            kernel: { min: "2.6" }
                            expect: failure
                            message: status \\d+ of the known kind
                            reason: it counts differently
                            link: https://example.org/1
                          - test: "*DeviationsIT$DeviatingTestCase#hangs"
                            provider: rdma_.*
                            expect: skip
                            reason: it never ends
                            link: https://example.org/2
                          - key: elsewhere
                            provider: mlx5_core
                            expect: failure
                            message: status
                            reason: not of this device
                            link: https://example.org/3
                          - test: "*DeviationsIT$DeviatingTestCase#sizes"
                            name: size 2
                            provider: rdma_rxe
                            expect: failure
                            message: wrong size
                            reason: two is wrong
                            link: https://example.org/4
                          - test: "*DeviationsIT$DeviatingTestCase#made"
                            name: bad
                            provider: rdma_rxe
                            expect: failure
                            message: bad luck
                            reason: bad is bad
                            link: https://example.org/5
                        """).toString();
    }

    @Test
    void skipsWhatFailsAsKnownAndReportsWhatPasses(@TempDir Path folder) throws IOException {
        String file = file(folder);
        Run run = Run.of(DeviatingTestCase.class, RdmaConfiguration.DEVIATIONS, file);
        assertThat(run.failure("known"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessage("known deviation: it counts differently (https://example.org/1; " + file
                        + ":2); it failed with: status 7 of the known kind")
                .hasCauseInstanceOf(AssertionError.class);
        assertThat(run.failure("other")).isInstanceOf(AssertionError.class).hasMessage("quite another failure");
        assertThat(run.skipReason("hangs"))
                .isEqualTo("known deviation: it never ends (https://example.org/2; " + file + ":9)");
        assertThat(run.failure("elsewhere")).isInstanceOf(AssertionError.class);
        assertThat(run.failure("size 2")).isInstanceOf(TestAbortedException.class);
        assertThat(run.failure("bad")).isInstanceOf(TestAbortedException.class);
        assertThat(run.succeeded()).containsExactly("good", "passes()", "size 1");
        assertThat(run.entries())
                .contains(Map.of(
                        ReportKeys.DEVIATION, "known",
                        ReportKeys.DEVIATION_OUTCOME, ReportKeys.PASSED_UNEXPECTEDLY,
                        ReportKeys.DEVIATION_REASON, "it counts differently",
                        ReportKeys.DEVIATION_LINK, "https://example.org/1",
                        ReportKeys.DEVIATION_SOURCE, file + ":2"));
        assertThat(run.entries().stream().map(entry -> entry.getOrDefault(ReportKeys.DEVIATION_OUTCOME, "")))
                .containsOnlyOnce(ReportKeys.PASSED_UNEXPECTEDLY)
                .containsOnlyOnce(ReportKeys.NOT_RUN)
                .contains(ReportKeys.FAILED_AS_KNOWN);
    }

    @Test
    void failsWhatPassesOnDemand(@TempDir Path folder) throws IOException {
        String file = file(folder);
        Run run = Run.of(
                DeviatingTestCase.class,
                RdmaConfiguration.DEVIATIONS,
                file,
                RdmaConfiguration.STALE_DEVIATIONS,
                "fail");
        assertThat(run.failure("passes"))
                .isInstanceOf(AssertionError.class)
                .hasMessage("rdma.deviations.stale=fail: the test passes, but " + file + ":2 knows that it fails on"
                        + " rdma_rxe: it counts differently (https://example.org/1; " + file
                        + ":2); narrow that entry, or remove it");
        assertThat(run.failure("known")).isInstanceOf(TestAbortedException.class);
    }

    @RdmaTest
    static class FieldBesideAnnotationTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder().build();

        @RdmaTest
        @DeviationKey("stale")
        void passes() {}

        @ParameterizedTest(name = "size {0}")
        @ValueSource(ints = 1)
        @DeviationKey("stale")
        void passesWith(int size) {}

        @TestFactory
        @DeviationKey("stale")
        List<DynamicTest> made() {
            return List.of(dynamicTest("good", () -> {}));
        }
    }

    @Test
    void judgesOnceWhatTwoRegistrationsLookAt(@TempDir Path folder) throws IOException {
        // Its message is in its reason too, which the failure of a stale one repeats.
        String file = Files.writeString(folder.resolve("lab.yaml"), """
                        deviations:
                          - key: stale
                            provider: rdma_rxe
                            expect: failure
                            message: differs
                            reason: the status differs
                            link: https://example.org/6
                        """).toString();
        Run run = Run.of(FieldBesideAnnotationTestCase.class, RdmaConfiguration.DEVIATIONS, file)
                .allSucceeded(3);
        assertThat(run.entries().stream().filter(entry -> entry.containsKey(ReportKeys.DEVIATION)))
                .hasSize(3);
        run = Run.of(
                FieldBesideAnnotationTestCase.class,
                RdmaConfiguration.DEVIATIONS,
                file,
                RdmaConfiguration.STALE_DEVIATIONS,
                "fail");
        assertThat(run.failed()).containsExactly("good", "passes()", "size 1");
    }

    @Test
    void countsThemAsSkipsWhereNothingMayBeSkipped(@TempDir Path folder) throws IOException {
        Run run = Run.of(
                DeviatingTestCase.class, RdmaConfiguration.DEVIATIONS, file(folder), RdmaConfiguration.SKIPS, "fail");
        assertThat(run.failure("known"))
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith("rdma.skips=fail: known deviation: it counts differently");
        assertThat(run.failure("hangs")).hasMessageStartingWith("rdma.skips=fail: known deviation: it never ends");
    }

    @RdmaTest
    static class BundledTestCase {
        @RdmaTest
        @DeviationKey("rc-short-receive")
        void tooShort() {
            throw new AssertionError("expected: <LOC_LEN_ERR> but was: <LOC_QP_OP_ERR>");
        }
    }

    @Test
    void theProjectsOwnFileAppliesUnlessItIsSwitchedOff() {
        assertThat(Run.of(BundledTestCase.class).failure("tooShort"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessageContaining("bundled:rdma_rxe.yaml:3");
        assertThat(Run.of(BundledTestCase.class, RdmaConfiguration.DEVIATIONS, "none")
                        .failure("tooShort"))
                .isExactlyInstanceOf(AssertionError.class);
    }

    @RdmaTest
    static class NothingKnownTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder()
                .configuration(RdmaConfiguration.DEVIATIONS, "none")
                .build();

        @RdmaTest
        @DeviationKey("rc-short-receive")
        void unknown() {
            throw new AssertionError("expected: <LOC_LEN_ERR> but was: <LOC_QP_OP_ERR>");
        }
    }

    @Test
    void theFilesOfOneClassAreNotThoseOfTheNext() {
        Run run = Run.ofAll(NothingKnownTestCase.class, BundledTestCase.class);
        assertThat(run.failure("unknown")).isExactlyInstanceOf(AssertionError.class);
        assertThat(run.failure("tooShort"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessageContaining("bundled:rdma_rxe.yaml:3");
    }

    @Test
    void aFileThatIsNotThereOrWrongFailsTheTests(@TempDir Path folder) throws IOException {
        Run missing = Run.of(BundledTestCase.class, RdmaConfiguration.DEVIATIONS, "lab/none.yaml");
        assertThat(missing.succeeded()).isEmpty();
        assertThat(missing.failure("tooShort"))
                .hasStackTraceContaining("rdma.deviations: 'lab/none.yaml' is no file (looked from ");
        Path broken = Files.writeString(folder.resolve("broken.yaml"), "deviations: []");
        assertThat(Run.of(BundledTestCase.class, RdmaConfiguration.DEVIATIONS, broken.toString())
                        .failure("tooShort"))
                .hasStackTraceContaining(
                        broken + ":1:13: deviations must be a list of at least one deviation, not an empty list");
    }
}
