package io.rdmatest.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LeftoversTests {

    @TempDir
    private Path folder;

    /** A JVM that dies while a fault of its is active on this host. */
    static final class DiesInAFault {

        private DiesInAFault() {}

        public static void main(String[] args) {
            Fabric fabric = Fabric.load(args[0]);
            Faults.on(fabric)
                    .network(fabric.local(), NetworkFault.loss(1), Duration.ofMinutes(1))
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
        executable(
                folder.resolve("bin/setsid"),
                "while read -r line && [ \"$line\" != go ]; do",
                "    [ \"$line\" != '}' ] || echo rdmatest-fault ready eth0",
                "done",
                "echo rdmatest-fault applied eth0",
                "cat >/dev/null",
                "tries=0",
                "until [ -e " + mayGoOn + " ]; do",
                "    tries=$((tries + 1))",
                "    [ $tries -lt 600 ] || exit",
                "    sleep 0.1",
                "done",
                "touch " + good);
        Path fabric = Files.writeString(
                folder.resolve("fragile.yaml"),
                "fabric: fragile\nfaults: allowed\nnodes:\n  - { name: a, device: rxe0, port: 1 }\n");
        Leftovers leftovers = new Leftovers();
        Map<String, String> environment = new HashMap<>();
        environment.put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
        leftovers.mark(environment);
        Path said = folder.resolve("said");
        assertThat(Forked.java(said, environment, List.of(), DiesInAFault.class.getName(), List.of(fabric.toString())))
                .as(Files.readString(said))
                .isEqualTo(134);

        leftovers.end();

        Files.createFile(mayGoOn);
        await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(good));
    }

    /** SIGKILL leaves ./qualify no time to end what it has started, and then another run may begin. */
    @Test
    void theScenariosDoNotOutliveAFrontEndThatIsKilled() throws Exception {
        Files.createDirectories(folder.resolve("reports/target"));
        Path said = folder.resolve("said");
        List<String> options = List.of(
                "-Drdma.project=" + folder,
                "-Drdma.java=" + Forked.launcher(),
                "-D" + ScenarioRunner.PACKAGE + "=io.rdmatest.report.endless",
                "-Dstdout.encoding=US-ASCII");
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

    private static void executable(Path file, String... lines) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    }
}
