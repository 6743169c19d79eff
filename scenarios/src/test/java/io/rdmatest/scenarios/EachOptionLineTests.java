package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.testkit.engine.EventConditions.event;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;

import io.rdmatest.scenarios.rping.RpingOptions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

class EachOptionLineTests {

    private static final List<String> RAN = new ArrayList<>();

    static class Pings {

        @ParameterizedTest(name = "{0}")
        @EachOptionLine({"", "-C 100 -S 4096 -V", "-qC7"})
        void ping(RpingOptions options, TestInfo info) {
            RAN.add(info.getDisplayName() + ": " + options.count() + " of " + options.sizeBytes() + " "
                    + options.validate() + " " + options.bringUp());
        }
    }

    static class WrongLine {

        @ParameterizedTest
        @EachOptionLine("-S 3")
        void ping(RpingOptions options) {
            throw new AssertionError(options);
        }
    }

    static class WrongType {

        @ParameterizedTest
        @EachOptionLine("-S 64")
        void ping(String options) {
            throw new AssertionError(options);
        }
    }

    private static EngineExecutionResults run(Class<?> tests) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(tests))
                .execute();
    }

    @Test
    void everyLineRunsTheTestWithItsOptions() {
        RAN.clear();
        run(Pings.class).testEvents().assertStatistics(statistics -> statistics.succeeded(3));
        assertThat(RAN)
                .containsExactly(
                        "defaults: 0 of 64 false RDMA_CM",
                        "-C 100 -S 4096 -V: 100 of 4096 true RDMA_CM",
                        "-qC7: 7 of 64 false EXTERNAL_QP");
    }

    @Test
    void aWrongLineIsNamed() {
        run(WrongLine.class)
                .containerEvents()
                .assertThatEvents()
                .haveExactly(
                        1,
                        event(finishedWithFailure(message(text -> text.contains("\"-S 3\"") && text.contains("23")))));
    }

    @Test
    void aTestWithoutOptionsAsItsFirstParameterIsNamed() {
        run(WrongType.class)
                .containerEvents()
                .assertThatEvents()
                .haveExactly(
                        1,
                        event(finishedWithFailure(message(
                                text -> text.contains("@EachOptionLine") && text.contains("first parameter")))));
    }
}
