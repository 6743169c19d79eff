package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class TimedProgramTests {

    private static final Duration STEP = Duration.ofSeconds(60);

    @Test
    void linesHaveTheTimeAtWhichTheyCame() throws Exception {
        long before = System.nanoTime();
        try (TimedProgram program = TimedProgram.start(STEP, false, "sh", "-c", "echo begin; echo end")) {
            TimedProgram.Line begin = program.awaitLine("begin");
            TimedProgram.Line end = program.awaitLine("end");
            long took = program.awaitSuccess();
            assertThat(program.output()).containsExactly("begin", "end");
            assertThat(begin.nanos() - before).isPositive();
            assertThat(end.nanos() - begin.nanos()).isNotNegative();
            assertThat(took).isPositive().isGreaterThanOrEqualTo(end.nanos() - begin.nanos());
            assertThat(program.command()).isEqualTo("sh -c echo begin; echo end");
        }
    }

    @Test
    void aFailureIsToldWithWhatItPrinted() throws Exception {
        try (TimedProgram program = TimedProgram.start(STEP, false, "sh", "-c", "echo no device >&2; exit 3")) {
            assertThatThrownBy(program::awaitSuccess)
                    .isInstanceOf(NotMeasuredException.class)
                    .hasMessageContaining("ended with 3")
                    .hasMessageContaining("no device");
        }
    }

    @Test
    void anEndWithoutTheLineIsNotWaitedFor() throws Exception {
        try (TimedProgram program = TimedProgram.start(STEP, false, "sh", "-c", "echo other")) {
            assertThatThrownBy(() -> program.awaitLine("wanted"))
                    .isInstanceOf(NotMeasuredException.class)
                    .hasMessageContaining("no line with 'wanted' until the end")
                    .hasMessageContaining("other");
        }
    }

    @Test
    void aProgramThatDoesNotEndIsGivenUpAndKilled() throws Exception {
        TimedProgram program = TimedProgram.start(Duration.ofMillis(50), false, "sleep", "600");
        try (program) {
            assertThatThrownBy(program::awaitSuccess)
                    .isInstanceOf(NotMeasuredException.class)
                    .hasMessageContaining("still running");
        }
        assertThat(program.describe()).contains("ended with");
    }

    @Test
    void aLineThatNeedNotComeIsNoFailure() throws Exception {
        try (TimedProgram program = TimedProgram.start(STEP, false, "sh", "-c", "echo begin; exec sleep 600")) {
            assertThat(program.awaitLine("begin", STEP)).isNotNull();
            assertThat(program.awaitLine("end", Duration.ofMillis(50))).isNull();
        }
        try (TimedProgram program = TimedProgram.start(STEP, false, "true")) {
            assertThatThrownBy(() -> program.awaitLine("end", STEP))
                    .isInstanceOf(NotMeasuredException.class)
                    .hasMessageContaining("until the end");
        }
    }

    @Test
    void aProgramThatIsNotInstalledIsNamed() {
        assertThatThrownBy(() -> {
                    try (TimedProgram program = TimedProgram.start(STEP, false, "no-such-program")) {
                        throw new AssertionError(program.describe());
                    }
                })
                .isInstanceOf(NotMeasuredException.class)
                .hasMessageContaining("no-such-program is not installed");
    }
}
