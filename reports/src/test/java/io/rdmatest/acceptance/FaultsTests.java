package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.junit.RdmaTest;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Faults on purpose between two virtual machines on one segment. All run in one pair of machines, which is booted once; what
 * became of each is a test here.
 */
@EnabledIfSystemProperty(
        named = "rdma.test.faults",
        matches = "true",
        disabledReason = "takes minutes, and needs a host that does nothing else: -Drdma.test.faults=true runs it")
@EnabledIf(
        value = "prepared",
        disabledReason = "the project is not packaged, or no virtual machine can be started here")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class FaultsTests {

    private static final Path PROJECT = Path.of("..").toAbsolutePath().normalize();
    private static final Path AGENT = PROJECT.resolve("scenarios/target/rdmatest-agent.jar");

    private static String said = "";

    static boolean prepared() throws Exception {
        return NodesTests.prepared();
    }

    static Stream<String> faults() {
        return Arrays.stream(FaultsOnTwoNodes.class.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(RdmaTest.class))
                .map(Method::getName)
                .sorted();
    }

    @BeforeAll
    static void run(@TempDir Path folder) throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        // The fork's own class path may be a jar that names the others.
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String script = """
                main() {
                    $replace %s -XX:TieredStopAtLevel=1 -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED \\
                        -D%s=%s -cp "$classes" io.rdmatest.acceptance.FaultsMain "$@"
                }
                await() {
                    tries=0
                    until "$@"; do
                        tries=$((tries + 1))
                        [ $tries -lt 300 ] || { echo "in vain: $*" >&2; exit 99; }
                        sleep 0.2
                    done
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
                """.formatted(java, FaultsOnTwoNodes.AGENT, AGENT);
        Path output = folder.resolve("said");
        ProcessBuilder builder = new ProcessBuilder(List.of(
                        PROJECT.resolve("fabric-config/rdma-jdk/bin/in-vm").toString(),
                        "--nodes",
                        "2",
                        "--",
                        "sh",
                        "-c",
                        script))
                .directory(PROJECT.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        // Also where there is a device: what is shown here is two hosts.
        builder.environment().put("RDMA_VM", "always");
        builder.environment().put("classes", classPath);
        Process process = builder.start();
        boolean ended;
        try {
            ended = process.waitFor(12, TimeUnit.MINUTES);
        } finally {
            process.destroy();
        }
        said = Files.readString(output, StandardCharsets.UTF_8);
        assertThat(ended).as(said).isTrue();
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
