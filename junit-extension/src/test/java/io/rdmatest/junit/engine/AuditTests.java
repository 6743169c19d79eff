package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.ReportKeys;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.testkit.engine.EngineTestKit;

@Isolated("it looks at the ledger as a whole")
class AuditTests {

    private static final List<String> RELEASED = new ArrayList<>();

    /** An entry of the ledger without a native object behind it: the audit looks at nothing else. */
    private static final class Entry extends NativeResource {
        private final String name;

        Entry(String name, @Nullable NativeResource parent) {
            super("pd", parent);
            this.name = name;
        }

        @Override
        protected void release() {
            RELEASED.add(name);
        }

        @Override
        public String describe() {
            return name;
        }
    }

    @RdmaTest
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class LeakingTestCase {
        @RdmaTest
        void aLeaks() {
            Entry pd = new Entry("pd none/1", null);
            new Entry("mr none/2", pd);
        }

        @RdmaTest
        void bIsNotBlamedForTheOneBefore() {
            try (Entry pd = new Entry("pd none/3", null)) {
                assertThat(pd.isClosed()).isFalse();
            }
        }

        @RdmaTest
        void cLeaksAndFails() {
            new Entry("cq none/4", null);
            throw new IllegalStateException("the test's own failure");
        }
    }

    @Test
    void failsTheTestThatLeaksAndNamesWhatAndWhere() {
        RELEASED.clear();
        List<NativeResource> before = Ledger.live();
        Run run = Run.withoutDevice(LeakingTestCase.class);
        assertThat(run.failure("aLeaks"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageContaining("aLeaks() left 2 native objects behind: pd none/1, mr none/2")
                .hasMessageContaining("pd none/1, created at")
                .hasMessageContaining("mr none/2, created at")
                .hasMessageContaining("LeakingTestCase.aLeaks(AuditTests.java:");
        // The fabric did nothing wrong: the test is broken.
        assertThat(Cause.of(run.failure("aLeaks"))).isEqualTo(Cause.LEAK);
        assertThat(run.entries())
                .containsSubsequence(
                        Map.of(ReportKeys.CAUSE, "LEAK"),
                        Map.of(ReportKeys.CAUSE, "DEFECT"),
                        Map.of(ReportKeys.CAUSE, "LEAK"));
        assertThat(run.succeeded()).containsExactly("bIsNotBlamedForTheOneBefore()");
        assertThat(RELEASED).startsWith("mr none/2", "pd none/1");
        assertThat(Ledger.live()).isEqualTo(before);
    }

    @Test
    void auditsAlsoWhereStoresDoNotCloseWhatIsAutoCloseable() {
        RELEASED.clear();
        List<NativeResource> before = Ledger.live();
        Run run = Run.withoutDevice(
                LeakingTestCase.class, "junit.jupiter.extensions.store.close.autocloseable.enabled", "false");
        assertThat(run.failure("aLeaks"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageContaining("aLeaks() left 2 native objects behind: pd none/1, mr none/2");
        assertThat(RELEASED).containsExactly("mr none/2", "pd none/1", "pd none/3", "cq none/4");
        assertThat(Ledger.live()).isEqualTo(before);
    }

    @Test
    void keepsTheTestsOwnFailureFirst() {
        Throwable failure = Run.withoutDevice(LeakingTestCase.class).failure("cLeaksAndFails");
        assertThat(failure).hasMessage("the test's own failure");
        assertThat(failure.getSuppressed())
                .anySatisfy(suppressed -> assertThat(suppressed).hasMessageContaining("cq none/4"));
    }

    @Test
    void canBeSwitchedOff() {
        List<NativeResource> before = Ledger.live();
        Run run = Run.withoutDevice(LeakingTestCase.class, RdmaConfiguration.AUDIT, "off");
        List<NativeResource> left = Ledger.live().stream()
                .filter(resource -> !before.contains(resource))
                .toList();
        left.reversed().forEach(NativeResource::close);
        assertThat(run.succeeded()).contains("aLeaks()");
        assertThat(left).map(NativeResource::describe).contains("pd none/1", "mr none/2", "cq none/4");
    }

    @RdmaTest
    static class ClassLeakTestCase {
        private static @Nullable Entry kept;

        @BeforeAll
        static void open() {
            kept = new Entry("pd none/5", null);
            new Entry("pd none/6", null);
        }

        @AfterAll
        static void close() {
            if (kept != null) {
                kept.close();
            }
        }

        @RdmaTest
        void passes() {}
    }

    @Test
    void blamesTheClassForWhatTheClassLeft() {
        Run run = Run.withoutDevice(ClassLeakTestCase.class);
        assertThat(run.succeeded()).containsExactly("passes()");
        assertThat(run.failure("AuditTests$ClassLeakTestCase"))
                .hasMessageContaining("left 1 native object behind")
                .hasMessageContaining("pd none/6");
    }

    @Test
    void refusesAnUnknownKindOfAudit() {
        assertThat(Run.withoutDevice(ClassLeakTestCase.class, RdmaConfiguration.AUDIT, "often")
                        .failure("AuditTests$ClassLeakTestCase"))
                .hasMessageContaining("rdma.audit: \"often\" is not one of ledger, kernel, off");
    }

    /** In a container, objects of processes outside of it have no process, and would be taken for leaks. */
    @Test
    void theKernelIsAskedOnlyWhereItSaysWhoseItsObjectsAre(@TempDir Path folder) throws IOException {
        Path first = Files.createSymbolicLink(folder.resolve("first"), Path.of("pid:[4026531836]"));
        Path container = Files.createSymbolicLink(folder.resolve("container"), Path.of("pid:[4026532291]"));

        assertThat(KernelAudit.ownersAreTold(first)).isTrue();
        assertThat(KernelAudit.ownersAreTold(container)).isFalse();
        assertThat(KernelAudit.ownersAreTold(folder.resolve("none"))).isTrue();
    }

    @RdmaTest
    @ExtendWith(Seeing.class)
    static class DefaultsTestCase {
        @RdmaTest
        void sees() {}
    }

    private static final List<Boolean> SEEN = new ArrayList<>();

    private static final class Seeing implements BeforeEachCallback {
        @Override
        public void beforeEach(ExtensionContext context) {
            Configuration configuration = Configuration.of(context);
            SEEN.addAll(List.of(
                    configuration.auditKernel(),
                    configuration.auditOff(),
                    configuration.countersFail(),
                    configuration.countersOff()));
        }
    }

    /** Another job on the device, or another pod, must not fail a stranger's tests. */
    @Test
    void aStrangersProjectAsksForTheLedgerAndReportsCounters() {
        EngineTestKit.engine("junit-jupiter")
                .configurationParameter(RdmaConfiguration.REQUIRE_DEVICE, "false")
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .selectors(DiscoverySelectors.selectClass(DefaultsTestCase.class))
                .execute()
                .testEvents()
                .assertStatistics(statistics -> statistics.succeeded(1));
        assertThat(SEEN).containsExactly(false, false, false, false);
    }
}
