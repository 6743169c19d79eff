package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.junit.params.RdmaParameterizedTest;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.provider.ValueSource;

/** A plug-in on the class path gives parameters to RDMA tests, and acts around them, without an annotation. */
@Isolated
class PluginTests {

    private static final List<String> CALLS = new CopyOnWriteArrayList<>();

    /** What the plug-in below provides. */
    record Greeting(String text) {}

    /** Found by the service loader; for the fixtures of this class only. */
    public static final class Recording implements RdmaTestPlugin {

        private static void record(String call, ExtensionContext context) {
            if (context.getRequiredTestClass().getEnclosingClass() == PluginTests.class) {
                CALLS.add(call);
            }
        }

        @Override
        public boolean supports(Class<?> type) {
            return type == Greeting.class;
        }

        @Override
        public Object resolve(Class<?> type, ExtensionContext context) {
            return new Greeting("hello " + context.getRequiredTestMethod().getName());
        }

        @Override
        public void beforeAll(ExtensionContext context) {
            record("beforeAll", context);
        }

        @Override
        public void beforeEach(ExtensionContext context) {
            record("beforeEach", context);
        }

        @Override
        public void beforeTestExecution(ExtensionContext context) {
            record("beforeTestExecution", context);
        }

        @Override
        public void afterTestExecution(ExtensionContext context) {
            record("afterTestExecution", context);
            if (context.getDisplayName().startsWith("refused")) {
                throw new AssertionError("refused by the plug-in");
            }
        }
    }

    @RdmaTest
    static class GreetedTestCase {
        @BeforeEach
        void setUp() {
            CALLS.add("setUp");
        }

        @RdmaTest
        void greeted(Greeting greeting) {
            CALLS.add(greeting.text());
        }
    }

    @RdmaTest
    static class OthersTestCase {
        @RdmaTest
        void refused(Greeting greeting) {}

        @RdmaParameterizedTest
        @ValueSource(strings = "x")
        void row(Greeting greeting, String text) {
            assertThat(greeting.text()).isEqualTo("hello row");
            assertThat(text).isEqualTo("x");
        }
    }

    @Test
    void actsInOrderAndProvidesParameters() {
        CALLS.clear();
        Run.withoutDevice(GreetedTestCase.class).allSucceeded(1);
        assertThat(CALLS)
                .containsExactly(
                        "beforeAll",
                        "beforeEach",
                        "setUp",
                        "beforeTestExecution",
                        "hello greeted",
                        "afterTestExecution");
    }

    @Test
    void failsATestAndLeavesRowsTheirParameters() {
        Run run = Run.withoutDevice(OthersTestCase.class);
        assertThat(run.failure("refused")).hasMessage("refused by the plug-in");
        assertThat(run.succeeded()).hasSize(1);
    }
}
