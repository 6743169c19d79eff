package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import org.junit.platform.testkit.engine.Events;

/** A test for each pair of a fabric, one of whose nodes may be out of reach. */
@RdmaTest(timeout = "2 min")
@Tag("slow")
class EachPairIT {

    private static final Duration STEP = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    @RdmaTest(timeout = "1 min")
    static class Pings {

        @EachPair
        void ping(ScenarioSettings settings, Stage stage) {
            assertThat(settings).isNotNull();
            PingPongRoles.Plan plan = PingPongRoles.Plan.parse("-S 64 -C 3 --timeout", STEP);
            assertThat(stage.runPair(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), STEP)
                            .client()
                            .bytesVerified())
                    .isEqualTo(3 * 64);
        }
    }

    @Test
    void aNodeOutOfReachFailsItsOwnPairsAndNoOther() throws Exception {
        Events tests = run("""
                  - name: a
                  - { name: lost, launch: [no-such-program] }
                  - { name: c, launch: [env, '--'], java: same }
                """);

        assertThat(names(tests.succeeded().list()))
                .containsExactlyInAnyOrder("server on a, client on c", "server on c, client on a");
        assertThat(names(tests.failed().list()))
                .containsExactlyInAnyOrder(
                        "server on a, client on lost",
                        "server on lost, client on a",
                        "server on c, client on lost",
                        "server on lost, client on c");
        assertThat(tests.failed().list())
                .allSatisfy(event -> assertThat(event.getRequiredPayload(TestExecutionResult.class)
                                .getThrowable()
                                .orElseThrow())
                        .hasMessageContaining("no-such-program"));
    }

    @Test
    void aFabricOfOneNodeIsItsOnlyPair() throws Exception {
        assertThat(names(run("  - name: a\n").succeeded().list())).containsExactly("server on a, client on a");
    }

    private static List<String> names(List<Event> events) {
        return events.stream()
                .map(event -> event.getTestDescriptor().getDisplayName())
                .toList();
    }

    private Events run(String nodes) throws IOException {
        Path file = Files.writeString(folder.resolve("lab.yaml"), "fabric: lab\nnodes:\n" + nodes);
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("rdma.fabric", file.toString())
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .selectors(selectClass(Pings.class))
                .execute()
                .testEvents();
    }
}
