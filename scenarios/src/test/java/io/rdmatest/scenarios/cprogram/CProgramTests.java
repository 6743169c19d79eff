package io.rdmatest.scenarios.cprogram;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.opentest4j.TestAbortedException;

/** Programs of this host take the place of those of rdma-core. */
@Timeout(120)
class CProgramTests {

    private static final Duration STEP = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(50);

    @Test
    void linesHaveTheTimeAtWhichTheyCame() throws Exception {
        long before = System.nanoTime();
        try (CProgram program = CProgram.start(STEP, "sh", "-c", "echo begin; read -r go </dev/null; echo end")) {
            program.awaitSuccess();
            long after = System.nanoTime();
            assertThat(program.output()).isEqualTo("begin\nend\n");
            long begin = program.printedAt("begin");
            assertThat(begin - before).isPositive();
            assertThat(program.printedAt("end") - begin).isNotNegative();
            assertThat(after - before).isGreaterThanOrEqualTo(begin - before);
            assertThatThrownBy(() -> program.printedAt("middle"))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("No 'middle': ")
                    .hasMessageContaining("begin");
            assertThat(program.command()).isEqualTo("sh -c 'echo begin; read -r go </dev/null; echo end'");
        }
    }

    @Test
    void aFailureIsToldWithWhatItPrinted() throws Exception {
        try (CProgram program = CProgram.start(STEP, "sh", "-c", "echo no device >&2; exit 3")) {
            assertThatThrownBy(program::awaitSuccess)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("ended with 3")
                    .hasMessageContaining("no device");
        }
    }

    @Test
    void anEndWithoutTheLineIsNotWaitedFor() throws Exception {
        try (CProgram program = CProgram.start(STEP, "sh", "-c", "echo other")) {
            assertThatThrownBy(() -> program.awaitOutput("wanted"))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("No 'wanted' until its end")
                    .hasMessageContaining("other");
        }
    }

    @Test
    void aLineIsThereWhileTheProgramRuns() throws Exception {
        try (CProgram program = CProgram.start(STEP, "sh", "-c", "echo begin; echo begin; exec sleep 600")) {
            program.awaitOutput("begin", 2);
            assertThat(program.process().isAlive()).isTrue();
        }
    }

    @Test
    void aLineThatDoesNotComeIsWaitedForUntilTheStepIsOver() throws Exception {
        try (CProgram program = CProgram.start(SHORT, "sleep", "600")) {
            assertThatThrownBy(() -> program.awaitOutput("end"))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("No 'end' within 0 s");
        }
    }

    @Test
    void aProgramThatDoesNotEndIsGivenUpAndKilled() throws Exception {
        CProgram program = CProgram.start(SHORT, "sleep", "600");
        try (program) {
            assertThatThrownBy(program::awaitSuccess)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("Still running");
        }
        assertThat(program.describe()).contains("ended with");
    }

    @Test
    void theOutputOfAProgramThatIsKilledIsComplete() throws Exception {
        CProgram program = CProgram.start(STEP, "sh", "-c", "seq 1 100000; echo last; exec sleep 600");
        try (program) {
            program.awaitOutput("last");
        }
        assertThat(program.output()).endsWith("\n100000\nlast\n").hasLineCount(100_001);
    }

    /** As for a node of a fabric file: the shell that starts the program does not outlive it, nor the program the shell. */
    @Test
    void aProgramThatAShellStartedIsKilledWithIt() throws Exception {
        ProcessHandle started;
        try (CProgram program =
                CProgram.start(List.of("env"), STEP, "sh", "-c", "echo \"pid $$ of it\"; exec sleep 600")) {
            program.awaitOutput(" of it");
            String pid = program.output().replaceFirst("(?s).*pid (\\d+) of it.*", "$1");
            started = ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
            assertThat(program.process().pid()).isNotEqualTo(started.pid());
        }
        ProcessHandle ended = started.onExit().get(STEP.toSeconds(), TimeUnit.SECONDS);
        assertThat(ended.isAlive()).isFalse();
    }

    @Test
    void aProgramThatIsNotInstalledIsNamed() {
        assertThatThrownBy(() -> {
                    try (CProgram program = CProgram.start(STEP, "no-such-program")) {
                        throw new AssertionError(program.describe());
                    }
                })
                .isInstanceOf(TestAbortedException.class)
                .hasMessageContaining("no-such-program is not installed");
    }
}
