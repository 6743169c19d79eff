package io.rdmatest.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.rdmatest.peer.PeerLostException.Reason;
import java.io.File;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The way of the agent's jar to a node, which is a shell on this host with an environment of its own. */
@Timeout(120)
class BootstrapTests {

    private static final Duration STEP = Duration.ofSeconds(60);
    private static final int FILLER = 3 << 20;

    @TempDir
    private Path folder;

    private Path jar = Path.of("");
    private Path temporary = Path.of("");

    /** A small jar with the class path of this JVM, and enough bytes in it to fill every pipe several times. */
    @BeforeEach
    void makeAnAgent() throws Exception {
        jar = Files.createDirectory(folder.resolve("it's here")).resolve("agent.jar");
        temporary = Files.createDirectory(folder.resolve("temporary"));
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(Attributes.Name.MAIN_CLASS, TestAgent.class.getName());
        attributes.put(
                Attributes.Name.CLASS_PATH,
                Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                        .map(entry -> Path.of(entry).toUri().toString())
                        .collect(Collectors.joining(" ")));
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest)) {
            byte[] filler = new byte[FILLER];
            new java.util.Random(1).nextBytes(filler);
            entries.putNextEntry(new ZipEntry("filler"));
            entries.write(filler);
        }
    }

    /** Every node of a run gets the same jar, and there may be a thousand. */
    @Test
    void aJarIsReadOnceUntilItChanges() throws Exception {
        Bootstrap.Jar first = Bootstrap.of(jar).jar();
        assertThat(Bootstrap.of(jar, "java", Map.of()).jar()).isSameAs(first);

        Files.writeString(jar, "another one");
        assertThat(Bootstrap.of(jar).jar().sha256()).isNotEqualTo(first.sha256());
    }

    private Path script(String path, String content) throws Exception {
        Path file = folder.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + content + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Hides that the node sees the same files, as if it had others. */
    private String[] withOtherFiles() throws Exception {
        script("bin/sha256sum", "echo 'of another file  -'");
        return new String[] {"PATH=" + folder.resolve("bin") + ":" + System.getenv("PATH")};
    }

    private Peer launch(String... environment) {
        return Peer.launch(
                "b",
                Stream.concat(Stream.of("env", "TMPDIR=" + temporary), Stream.of(environment))
                        .toList(),
                jar,
                PeerSettings.defaults());
    }

    private PeerLostException lost(String... environment) {
        PeerLostException loss = catchThrowableOfType(PeerLostException.class, () -> {
            try (Peer peer = launch(environment)) {
                throw new AssertionError(peer.describe() + " came up");
            }
        });
        assertThat(loss).isNotNull();
        return loss;
    }

    private static void works(Peer peer) throws Exception {
        RemoteRole role = peer.start(
                "r",
                "echo",
                JsonNodeFactory.instance.objectNode().put("count", 1),
                JsonNodeFactory.instance.objectNode());
        role.tell("hello");
        assertThat(role.next(STEP)).isEqualTo(new RemoteRole.Told("hello"));
        assertThat(role.next(STEP)).isInstanceOf(RemoteRole.Done.class);
    }

    private String commandLine(Peer peer) throws Exception {
        return Files.readString(Path.of("/proc", Long.toString(peer.pid()), "cmdline"));
    }

    @Test
    void aNodeThatHasTheJarUsesIt() throws Exception {
        try (Peer peer = launch()) {
            works(peer);

            assertThat(commandLine(peer)).contains(jar.toString());
            assertThat(temporary).isEmptyDirectory();
        }
    }

    @Test
    void anotherNodeGetsTheJarAndKeepsNothing() throws Exception {
        try (Peer peer = launch(withOtherFiles())) {
            works(peer);

            assertThat(commandLine(peer))
                    .contains(temporary + "/rdmatest-agent.")
                    .doesNotContain(jar.toString());
            assertThat(temporary).isEmptyDirectory();
        }
    }

    /** As a shell does that greets at login. */
    @Test
    void aGreetingWithoutTheEndOfALineDoesNoHarm() throws Exception {
        for (String[] files : new String[][] {new String[0], withOtherFiles()}) {
            String[] launch = Stream.concat(
                            Stream.of(files), Stream.of("sh", "-c", "printf 'Welcome '; exec \"$@\"", "x"))
                    .toArray(String[]::new);
            try (Peer peer = launch(launch)) {
                works(peer);

                assertThat(peer.log()).contains("Welcome ");
            }
        }
    }

    @Test
    void aTerminalIsToldAtOnce() {
        long began = System.nanoTime();
        // What a terminal does with what it reads.
        PeerLostException loss = lost("sh", "-c", "cat; sleep 60");

        assertThat(loss.reason()).isEqualTo(Reason.GARBAGE);
        assertThat(loss).hasMessageContaining("leave out ssh -t, kubectl exec -t and srun --pty");
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(30));
    }

    @Test
    void withoutALaunchCommandItIsAProcessOfThisHost() throws Exception {
        try (Peer peer = Peer.launch("b", List.of(), jar, PeerSettings.defaults())) {
            works(peer);

            assertThat(peer.pid()).isNotEqualTo(ProcessHandle.current().pid());
        }
    }

    /** As ssh does: the arguments become one line for another shell. */
    @Test
    void aLaunchCommandMayHandItsArgumentsToAnotherShell() throws Exception {
        Path remote = script("bin/remote", "exec sh -c \"echo Last login: today; $*\"");
        try (Peer peer = Peer.launch("b", List.of(remote.toString()), jar, PeerSettings.defaults())) {
            works(peer);

            assertThat(peer.log()).contains("Last login: today");
        }
    }

    private Peer launch(String java, Map<String, String> environment, String... more) {
        return Peer.launch(
                "b",
                Stream.concat(Stream.of("env"), Stream.of(more)).toList(),
                java,
                environment,
                jar,
                PeerSettings.defaults());
    }

    @Test
    void theAgentHasTheVariablesOfItsNode() throws Exception {
        String text = "it's \"$HOME\" `here`";
        try (Peer peer =
                launch("java", Map.of("OF_THE_NODE", text, "PATH", ownJava().getParent() + ":/bin:/usr/bin"))) {
            works(peer);

            assertThat(environment(peer)).contains("OF_THE_NODE=" + text);
        }
    }

    /** The variables are those of a node that has not the jar, and which puts it where they say. */
    @Test
    void theFolderOfTheJarIsWhereTheVariablesOfTheNodeSay() throws Exception {
        String path = withOtherFiles()[0].substring("PATH=".length());
        try (Peer peer = launch(ownJava().toString(), Map.of("TMPDIR", temporary.toString(), "PATH", path))) {
            works(peer);

            assertThat(commandLine(peer)).contains(temporary + "/rdmatest-agent.");
            assertThat(temporary).isEmptyDirectory();
        }
    }

    @Test
    void theJavaOfTheNodeIsTheOneThatIsMeant() throws Exception {
        Path named = script("named/bin/java", "exec '" + ownJava() + "' -Dnamed=yes \"$@\"");
        Files.writeString(folder.resolve("named/release"), "JAVA_VERSION=\"25.0.1\"\n");
        try (Peer peer = launch(named.toString(), Map.of(), "RDMATEST_JAVA=/nowhere/java")) {
            works(peer);

            assertThat(commandLine(peer)).contains("-Dnamed=yes");
        }
    }

    @Test
    void theJavaOfTheNodeIsNotThere() {
        for (String java : List.of("/nowhere/java", "no-such-java", temporary.toString())) {
            PeerLostException loss = catchThrowableOfType(PeerLostException.class, () -> {
                try (Peer peer = launch(java, Map.of())) {
                    throw new AssertionError(peer.describe() + " came up");
                }
            });

            assertThat(loss)
                    .hasMessageContaining("the node has no java")
                    .hasMessageContaining("no java at " + java + ": install");
        }
    }

    @Test
    void aVariableWithoutAProperNameIsRefused() {
        assertThatThrownBy(() -> launch("java", Map.of("A B", "c")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'A B' is not a valid variable name");
    }

    private static Path ownJava() {
        return Path.of(System.getProperty("java.home"), "bin", "java");
    }

    private static List<String> environment(Peer peer) throws Exception {
        return List.of(Files.readString(Path.of("/proc", Long.toString(peer.pid()), "environ"))
                .split("\0"));
    }

    @Test
    void noJava() {
        PeerLostException loss = lost("RDMATEST_JAVA=/nowhere/java");

        assertThat(loss.reason()).isEqualTo(Reason.ENDED);
        assertThat(loss)
                .hasMessageContaining("the node has no java")
                .hasMessageContaining("no java at /nowhere/java: install a JDK 25 or later");
    }

    @Test
    void aJavaThatIsTooOld() throws Exception {
        Path old = script("old/bin/java", "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2");

        assertThat(lost("RDMATEST_JAVA=" + old))
                .hasMessageContaining("the node's java is too old")
                .hasMessageContaining(old + " (17)");
    }

    @Test
    void aReleaseFileTellsTheVersionWithoutAJvm() throws Exception {
        Path old = script("old/bin/java", "exit 1");
        Files.writeString(folder.resolve("old/release"), "IMPLEMENTOR=x\nJAVA_VERSION=\"21.0.2\"\n");

        assertThat(lost("RDMATEST_JAVA=" + old)).hasMessageContaining(old + " (21)");
    }

    @Test
    void noFolderForTheJar() throws Exception {
        PeerLostException loss = lost(withOtherFiles()[0], "TMPDIR=" + folder.resolve("missing"));

        assertThat(loss)
                .hasMessageContaining("no space for the agent's jar")
                .hasMessageContaining("can't make a folder in " + folder.resolve("missing"));
    }

    @Test
    void noSpaceForTheJar() throws Exception {
        Path limited = script("bin/limited", "ulimit -f 100; exec \"$@\"");
        PeerLostException loss = lost(withOtherFiles()[0], limited.toString());

        assertThat(loss).hasMessageContaining("no space for the agent's jar").hasMessageContaining("no room in");
        assertThat(temporary).isEmptyDirectory();
    }

    @Test
    void aShellThatIsNotThere() {
        PeerLostException loss = lost("PATH=/nowhere");

        assertThat(loss.exitStatus()).hasValue(127);
        assertThat(loss).hasMessageContaining("command not found").hasMessageContaining("No such file");
    }

    /** Whoever is killed while it sends leaves half a jar, and nobody who would take the rest. */
    @Test
    void halfAJarIsRemoved() throws Exception {
        Bootstrap bootstrap = Bootstrap.of(jar);
        ProcessBuilder builder = new ProcessBuilder("sh");
        builder.environment().put("TMPDIR", temporary.toString());
        builder.environment().put("PATH", withOtherFiles()[0].substring("PATH=".length()));
        Process node = builder.start();
        try (OutputStream out = node.getOutputStream()) {
            out.write(bootstrap.script());
            out.flush();
            assertThat(node.inputReader().readLine()).isEqualTo("rdmatest-agent: send");
            out.write(new byte[FILLER / 2]);
        }

        assertThat(node.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(node.exitValue()).isEqualTo(99);
        assertThat(temporary).isEmptyDirectory();
    }
}
