package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ReportKeys;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RdmaTestTests {

    @RdmaTest
    static class EveryKindTestCase {

        @RdmaTest
        void annotated(RdmaReport report, TestInfo info) {
            assertThat(info.getTags()).contains(RdmaTest.TAG);
            report.parameter("kind", "annotated");
        }

        @Test
        void plain(RdmaReport report, TestInfo info) {
            assertThat(info.getTags()).contains(RdmaTest.TAG);
            report.parameter("kind", "plain");
        }

        @ParameterizedTest(name = "parameterised {0}")
        @ValueSource(ints = {1, 2})
        void parameterised(int size, RdmaReport report) {
            report.parameter("kind", "parameterised" + size);
        }

        @RepeatedTest(value = 2, name = "repeated {currentRepetition}")
        void repeated(RdmaReport report) {
            report.parameter("kind", "repeated");
        }

        @TestFactory
        Stream<DynamicTest> dynamic(RdmaReport report) {
            return Stream.of(DynamicTest.dynamicTest("dynamic", () -> report.parameter("kind", "dynamic")));
        }

        @Nested
        class Inner {
            @RdmaTest
            void nested(RdmaReport report, TestInfo info) {
                assertThat(info.getTags()).contains(RdmaTest.TAG);
                report.parameter("kind", "nested");
            }
        }
    }

    @Test
    void lendsTheExtensionToEveryKindOfTest() {
        Run run = Run.withoutDevice(EveryKindTestCase.class);
        assertThat(run.failed()).isEmpty();
        assertThat(run.succeeded()).hasSize(8);
        assertThat(run.entries().stream().map(e -> e.get(ReportKeys.PARAMETER)).filter(Objects::nonNull))
                .hasSize(8);
    }

    static class InheritedTestCase extends EveryKindTestCase {
        @ParameterizedTest(name = "own {0}")
        @ValueSource(longs = 8)
        void own(long size, RdmaReport report) {
            report.parameter("kind", "own" + size);
        }
    }

    @Test
    void isInherited() {
        Run run = Run.withoutDevice(InheritedTestCase.class);
        assertThat(run.failed()).isEmpty();
        assertThat(run.succeeded()).contains("own 8").hasSizeGreaterThanOrEqualTo(8);
    }

    static class PlainTestCase {
        @RdmaTest
        void alone(RdmaReport report, TestInfo info) {
            assertThat(info.getTags()).containsExactly(RdmaTest.TAG);
            report.parameter("kind", "alone");
        }

        @Test
        void stranger(RdmaReport report) {}
    }

    @Test
    void makesATestOfAMethodInAPlainClass() {
        Run run = Run.withoutDevice(PlainTestCase.class);
        assertThat(run.succeeded()).singleElement().asString().startsWith("alone");
        assertThat(run.failure("stranger")).hasMessageContaining("No ParameterResolver registered");
    }

    @RdmaTest
    record ConstructorTestCase(RdmaReport report) {
        @RdmaTest
        void uses() {
            report.parameter("by", "constructor");
        }
    }

    @Test
    void resolvesConstructorParameters() {
        assertThat(Run.withoutDevice(ConstructorTestCase.class).entries())
                .contains(Map.of(ReportKeys.PARAMETER, "by", ReportKeys.VALUE, "constructor"));
    }
}
