package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.junit.RdmaTest;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Faults on purpose between two virtual machines on one segment. All run in one pair of machines, which is booted once; what
 * became of each is a test here.
 */
@Tag("machines")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class FaultsIT {

    private static String said = "";

    static Stream<String> faults() {
        return Arrays.stream(FaultsOnTwoNodes.class.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(RdmaTest.class))
                .map(Method::getName)
                .sorted();
    }

    @BeforeAll
    static void run(@TempDir Path folder) throws Exception {
        String script = Machines.AWAIT
                + """
                main() {
                    $replace %s -D%s=%s -cp "$classes" io.rdmatest.acceptance.FaultsMain "$@"
                }
                none() { ! { tc qdisc show; on-node b tc qdisc show; } | grep -q netem; }
                replace=''
                main
                echo "ended with $?"
                replace=exec
                scratch=$(mktemp -d)
                main hold >"$scratch/said" & holder=$!
                await grep -q '^holding' "$scratch/said"
                echo "held: $(tc qdisc show | grep -c netem) here, $(on-node b tc qdisc show | grep -c netem) there"
                kill -KILL $holder
                await none
                echo "nothing is left of them"
                """.formatted(String.join(" ", Machines.java()), FaultsOnTwoNodes.AGENT, Machines.AGENT);
        said = Machines.inVm(
                        2,
                        folder.resolve("said"),
                        Duration.ofMinutes(12),
                        Map.of("classes", Machines.classPath()),
                        script)
                .output();
    }

    @ParameterizedTest
    @MethodSource("faults")
    void itsConsequencesAreAsExpected(String fault) {
        assertThat(said).contains("SUCCESSFUL " + fault + " (");
    }

    @Test
    void whatWasInjectedIsPublished() {
        assertThat(said)
                .contains("rdma.value=loss 2%", "rdma.value=corrupt 2%", "published: fault-statistics.txt")
                .doesNotContain("SKIPPED", "FAILED")
                .contains("ended with 0");
    }

    @Test
    void nothingStaysBrokenWhenTheProcessIsKilled() {
        assertThat(said).contains("held: 1 here, 1 there", "nothing is left of them");
    }
}
