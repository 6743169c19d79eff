package io.rdmatest.scenarios.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import io.rdmatest.report.Forked;
import io.rdmatest.scenarios.qualify.Qualify;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MarkedProcessesTests {

    @TempDir
    private Path folder;

    /** A JVM that dies while a fault of its is active on this host. */
    static final class DiesInAFault {

        private DiesInAFault() {}

        public static void main(String[] args) {
            Fabric fabric = Fabric.load(args[0]);
            Faults.on(fabric)
                    .network(fabric.local().port(), NetworkFault.loss(1), Duration.ofMinutes(1))
                    .awaitApplied();
            Runtime.getRuntime().halt(134);
        }
    }

    /** Whoever ends what the JVM left behind must not leave the network broken. */
    @Test
    void theShellOfAFaultIsLeftToMakeItGood() throws Exception {
        Path mayGoOn = folder.resolve("may-go-on");
        Path good = folder.resolve("good");
        // In place of the shell: it takes its time to make good what it did not break.
        Path ignored = Forked.executable(
                folder.resolve("bin/setsid"),
                "while read -r line && [ \"$line\" != go ]; do",
                "    [ \"$line\" != '}' ] || echo rdmatest-fault ready eth0",
                "done",
                "mkfifo " + mayGoOn,
                "echo rdmatest-fault applied eth0",
                "cat >/dev/null",
                "timeout 60 head -n 1 " + mayGoOn + " >/dev/null && touch " + good);
        Path fabric = Files.writeString(
                folder.resolve("fragile.yaml"),
                "fabric: fragile\nfaults: allowed\nnodes:\n  - { name: a, device: rxe0, port: 1 }\n");
        MarkedProcesses marked = new MarkedProcesses();
        Map<String, String> environment = new HashMap<>();
        environment.put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
        marked.mark(environment);
        Path said = folder.resolve("said");
        assertThat(Forked.java(said, environment, List.of(), DiesInAFault.class.getName(), List.of(fabric.toString())))
                .as(Files.readString(said))
                .isEqualTo(134);

        marked.end();

        // For reading as well: nobody is waited for if the shell is gone.
        try (RandomAccessFile order = new RandomAccessFile(mayGoOn.toFile(), "rw")) {
            order.write('\n');
            await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(good));
        }
    }

    /** SIGKILL leaves ./qualify no time to end what it has started, and then another run may begin. */
    @Test
    void theScenariosDoNotOutliveAFrontEndThatIsKilled() throws Exception {
        Files.createDirectories(folder.resolve("reports/target"));
        Path said = folder.resolve("said");
        List<String> options = Forked.qualifying(folder, Forked.launcher(), "io.rdmatest.report.endless");
        Process qualify = Forked.start(said, Map.of(), options, Qualify.class.getName(), List.of("--verbose"));
        try {
            Pattern line = Pattern.compile("JVM (\\d+) and its program (\\d+) are under way");
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> line.matcher(Files.readString(said)).find());
            Matcher found = line.matcher(Files.readString(said));
            assertThat(found.find()).isTrue();
            List<ProcessHandle> started = Stream.of(found.group(1), found.group(2))
                    .map(pid -> ProcessHandle.of(Long.parseLong(pid)).orElseThrow())
                    .toList();

            qualify.destroyForcibly();

            try {
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> started.stream().noneMatch(ProcessHandle::isAlive));
            } finally {
                started.forEach(ProcessHandle::destroyForcibly);
            }
        } finally {
            qualify.destroyForcibly();
        }
    }
}
