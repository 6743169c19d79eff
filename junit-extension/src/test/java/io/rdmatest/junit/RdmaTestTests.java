package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ReportKeys;
import io.rdmatest.junit.params.EachSize;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
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

    static class TwoKindsTestCase {
        @RdmaTest
        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void parameterised(int size) {}

        @RdmaTest
        @RepeatedTest(2)
        void repeated() {}

        @RdmaTest
        @TestFactory
        Stream<DynamicTest> dynamic() {
            return Stream.of();
        }

        @RdmaTest
        @TestTemplate
        @ExtendWith(OnceProvider.class)
        void template() {}

        @RdmaTest
        @RdmaParameterizedTest
        void each(@EachSize(from = "1B", to = "2B") long size) {}

        @RdmaTest
        @Test
        void same() {}
    }

    /** Makes one invocation of a template. */
    static class OnceProvider implements TestTemplateInvocationContextProvider {
        @Override
        public boolean supportsTestTemplate(ExtensionContext context) {
            return true;
        }

        @Override
        public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
            return Stream.of(new TestTemplateInvocationContext() {});
        }
    }

    @Test
    void refusesToBeOneOfTwoKindsOfTestOnAMethod() {
        Run run = Run.withoutDevice(TwoKindsTestCase.class);
        assertThat(run.succeeded()).containsExactly("same()");
        assertThat(run.failures())
                .extracting(Throwable::getMessage)
                .containsOnly(
                        twoKinds("parameterised", "ParameterizedTest"),
                        twoKinds("repeated", "RepeatedTest"),
                        twoKinds("dynamic", "TestFactory"),
                        twoKinds("template", "TestTemplate"),
                        twoKinds("each", "RdmaParameterizedTest"));
    }

    private static String twoKinds(String method, String other) {
        return "@RdmaTest on method TwoKindsTestCase." + method + " is a @Test of its own, beside @" + other
                + ": put @RdmaTest on the class instead";
    }

    /** Stands for those of Mockito and Spring, which say nothing of the extension that they belong to. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mocked {}

    @Retention(RetentionPolicy.RUNTIME)
    @interface Nullable {}

    static class MockedResolver implements ParameterResolver {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.isAnnotated(Mocked.class);
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return new RdmaReport(entry -> {});
        }
    }

    @RdmaTest
    @ExtendWith(MockedResolver.class)
    static class OthersTestCase {
        @RdmaTest
        void asks(@Mocked RdmaReport mocked, RdmaReport report, @Nullable RdmaReport nullable) {
            mocked.parameter("of", "others");
            report.parameter("of", "this");
            nullable.parameter("of", "this too");
        }
    }

    @Test
    void leavesParametersWithTheAnnotationsOfOthersAlone() {
        Run run = Run.withoutDevice(OthersTestCase.class).allSucceeded(1);
        assertThat(run.entries().stream().map(e -> e.get(ReportKeys.VALUE)).filter(Objects::nonNull))
                .containsExactly("this", "this too");
    }
}
