package io.rdmatest.summary;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

class RunSummaryTests {

    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class GivesUpTestCase {

        @BeforeAll
        static void givesUp() {
            Assumptions.abort("peer absent: nobody is there");
        }

        @Test
        void one() {}

        @Test
        void two() {}
    }

    static class GivesUpAtTheEndTestCase {

        @AfterAll
        static void givesUp() {
            Assumptions.abort("peer absent: nobody is there any more");
        }

        @Test
        void three() {}

        @Test
        @Disabled("not selected: not today")
        void four() {}
    }

    private static String summaryOf(Class<?> tests) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        LauncherFactory.create(LauncherConfig.builder()
                        .enableTestExecutionListenerAutoRegistration(false)
                        .addTestExecutionListeners(
                                new RunSummary(new PrintStream(printed, true, StandardCharsets.UTF_8)))
                        .build())
                .execute(LauncherDiscoveryRequestBuilder.request()
                        .selectors(DiscoverySelectors.selectClass(tests))
                        .configurationParameter("rdma.skips", "list")
                        .build());
        return printed.toString(StandardCharsets.UTF_8);
    }

    /** JUnit reports only the class, whose tests never start. */
    @Test
    void theTestsOfAClassWhoseSetUpGivesUpAreCounted() {
        assertThat(summaryOf(GivesUpTestCase.class).lines())
                .containsExactly(
                        "rdma.skips=list: 2 tests were skipped",
                        "  peer absent: 2",
                        "    RunSummaryTests$GivesUpTestCase > one(): nobody is there",
                        "    RunSummaryTests$GivesUpTestCase > two(): nobody is there");
    }

    @Test
    void theTestsOfAClassThatGivesUpAfterwardsAreNotCountedAgain() {
        assertThat(summaryOf(GivesUpAtTheEndTestCase.class).lines())
                .containsExactly(
                        "rdma.skips=list: 2 tests were skipped",
                        "  not selected: 1",
                        "    RunSummaryTests$GivesUpAtTheEndTestCase > four(): not today",
                        "  peer absent: 1",
                        "    RunSummaryTests$GivesUpAtTheEndTestCase: nobody is there any more");
    }
}
