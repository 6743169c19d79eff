package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.Fabric;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes whose launch commands are scripts in the place of agents. */
@Timeout(120)
class NodesTests {

    private static final String FABRIC = """
            fabric: test
            nodes:
              - name: here
                rails: {one: {device: x1}, two: {device: x2}}
              - name: a
                launch: [%1$s, a, b]
                rails: {one: {device: x1}, two: {device: x2}}
              - name: b
                launch: [%1$s, b, a]
                rails: {one: {device: x1}, two: {device: x2}}
            """;

    @TempDir
    private Path folder;

    @BeforeEach
    void nameAnAgent() throws Exception {
        System.setProperty(
                Stage.AGENT,
                Files.writeString(folder.resolve("agent.jar"), "a jar").toString());
    }

    @AfterEach
    void nameNoAgent() {
        System.clearProperty(Stage.AGENT);
    }

    private Nodes nodes(String script) throws Exception {
        Path launch = Files.writeString(folder.resolve("launch"), "#!/bin/sh\ncd " + folder + "\n" + script);
        Files.setPosixFilePermissions(launch, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path file = Files.writeString(folder.resolve("fabric.yaml"), FABRIC.formatted(launch));
        return new Nodes(Fabric.load(file.toString()));
    }

    /** An agent that ends only when the other one is to end as well. One that is left alone is killed. */
    @Test
    void agentsEndAtOnce() throws Exception {
        String agent = """
                mkfifo ask-$1
                printf '%s\\n' '{"type":"hello","version":2,"pid":1,"host":"h","heartbeatMillis":60000,"patienceMillis":180000}'
                while read -r line; do
                    case $line in *'"type":"bye"'*)
                        # Each side opens a pipe that the other one opens as well.
                        [ $1 = a ] && { echo >ask-a; read -r ignored <ask-b; } || { read -r ignored <ask-a; echo >ask-b; }
                        echo >ended-$1
                        exit;;
                    esac
                done
                """;
        try (Nodes nodes = nodes(agent)) {
            assertThat(nodes.place("a", "one").peer()).isPresent();
            assertThat(nodes.place("b", "one").peer()).isPresent();
        }
        assertThat(folder.resolve("ended-a")).exists();
        assertThat(folder.resolve("ended-b")).exists();
    }

    @Test
    void aNodeThatFailedTwiceIsNotStartedForAnotherRail() throws Exception {
        try (Nodes nodes = nodes("echo >started-$1-$$; exit 7\n")) {
            Map<String, Throwable> first = nodes.start(List.of("a", "b"), "one");
            assertThat(first).containsOnlyKeys("a", "b");
            assertThat(starts()).isEqualTo(4);

            Map<String, Throwable> second = nodes.start(List.of("a", "b"), "two");
            assertThat(second).containsOnlyKeys("a", "b");
            assertThat(second.get("a")).hasMessageContaining("exit status 7");
            assertThat(starts()).isEqualTo(4);
        }
    }

    private long starts() throws Exception {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().startsWith("started-"))
                    .count();
        }
    }
}
