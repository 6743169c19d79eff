package io.rdmatest.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.peer.PeerLostException.Reason;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The channel between two JVMs, when all is well and when one of them, or what is between them, is not. */
@Timeout(120)
class PeerTests {

    private static final Duration STEP = Duration.ofSeconds(60);
    /** A host that runs many tests at once may let a process wait for seconds: only where silence is meant, it is a reason. */
    private static final PeerSettings SETTINGS =
            PeerSettings.defaults().withHeartbeat(Duration.ofMillis(300), Duration.ofSeconds(45));

    private static final PeerSettings IMPATIENT = SETTINGS.withHeartbeat(Duration.ofMillis(300), Duration.ofSeconds(8));
    private static final AtomicInteger NAMES = new AtomicInteger();

    /** Threads have the node's name: it is one of its own for each. */
    private final String node = "n" + NAMES.incrementAndGet();

    private Peer peer() {
        return peer(SETTINGS);
    }

    private Peer peer(PeerSettings settings) {
        return Peer.start(node, TestAgent.command(), settings);
    }

    private Peer shell(String script) {
        List<String> command = new ArrayList<>(List.of("sh", "-c", script, "sh"));
        command.addAll(TestAgent.command());
        return Peer.start(node, command, SETTINGS);
    }

    private static RemoteRole start(Peer peer, String kind, int count) {
        return peer.start(
                kind + "-1",
                kind,
                JsonNodeFactory.instance.objectNode().put("count", count),
                JsonNodeFactory.instance.objectNode().put("device", "rxe0"));
    }

    private static RemoteRole.Event next(RemoteRole role) throws InterruptedException {
        RemoteRole.@Nullable Event event = role.next(STEP);
        assertThat(event).as("something came from the role").isNotNull();
        return event;
    }

    private static void waits(RemoteRole role) throws InterruptedException {
        assertThat(next(role)).isEqualTo(new RemoteRole.Told("waiting"));
    }

    private static JsonNode result(RemoteRole role) throws InterruptedException {
        RemoteRole.Event event = next(role);
        assertThat(event).isInstanceOf(RemoteRole.Done.class);
        return ((RemoteRole.Done) event).result();
    }

    private static Throwable failure(RemoteRole role) throws InterruptedException {
        RemoteRole.Event event = next(role);
        assertThat(event).isInstanceOf(RemoteRole.Failed.class);
        return ((RemoteRole.Failed) event).failure();
    }

    private static PeerLostException lost(RemoteRole role) throws InterruptedException {
        Throwable failure = failure(role);
        assertThat(failure).isInstanceOf(PeerLostException.class);
        return (PeerLostException) failure;
    }

    private static PeerLostException lost(org.assertj.core.api.ThrowableAssert.ThrowingCallable start) {
        PeerLostException loss = catchThrowableOfType(PeerLostException.class, start);
        assertThat(loss).as("the agent did not come up").isNotNull();
        return loss;
    }

    private static void signal(String signal, long pid) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).start();
        assertThat(kill.waitFor()).isZero();
    }

    private static void awaitEnd(long pid) throws Exception {
        long deadline = System.nanoTime() + STEP.toNanos();
        var process = ProcessHandle.of(pid);
        while (process.isPresent() && !isZombie(pid)) {
            assertThat(System.nanoTime() - deadline).as("process %d ended", pid).isNegative();
            try {
                process.get().onExit().get(50, TimeUnit.MILLISECONDS);
                return;
            } catch (TimeoutException e) {
                continue;
            }
        }
    }

    /** Whoever has become process 1's child is gone, also where process 1 does not collect its children. */
    private static boolean isZombie(long pid) throws IOException {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            return stat.startsWith("Z", stat.lastIndexOf(')') + 2);
        } catch (NoSuchFileException e) {
            return true;
        }
    }

    private void nothingIsLeft() {
        List<Thread> left = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-peer-" + node + "-"))
                .toList();
        long deadline = System.nanoTime() + STEP.toNanos();
        assertThat(left)
                .allSatisfy(thread -> assertThat(
                                thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime()))))
                        .as("%s ended", thread.getName())
                        .isTrue());
    }

    // ---- all is well ----

    @Test
    void runsRolesWithTheirParametersAndGivesTheirResults() throws Exception {
        long pid;
        try (Peer peer = peer()) {
            pid = peer.pid();
            JsonNode result = result(start(peer, "echo", 0));

            assertThat(result.path("place").path("device").asText()).isEqualTo("rxe0");
            assertThat(peer.isAlive()).isTrue();
            assertThat(peer.describe()).startsWith(node).contains("process " + pid);
        }
        assertThat(ProcessHandle.of(pid)).isEmpty();
        nothingIsLeft();
    }

    @Test
    void manyMessagesKeepTheirOrderInBothDirectionsAtOnce() throws Exception {
        int count = 20_000;
        try (Peer peer = peer()) {
            RemoteRole echo = start(peer, "echo", count);
            RemoteRole flood = start(peer, "flood", count);
            for (int i = 0; i < count; i++) {
                echo.tell("message " + i);
            }
            for (int i = 0; i < count; i++) {
                assertThat(next(echo)).isEqualTo(new RemoteRole.Told("message " + i));
                assertThat(next(flood)).isEqualTo(new RemoteRole.Told(Integer.toString(i)));
            }
            result(echo);
            result(flood);
        }
    }

    @Test
    void messagesMayBeLargeAndOfAnyCharacters() throws Exception {
        String large = "ä\n\r\"\\\u0000\ud83d\ude00 lone \ud800 " + "y".repeat(8 << 20);
        try (Peer peer = peer()) {
            RemoteRole echo = start(peer, "echo", 1);
            echo.tell(large);

            assertThat(((RemoteRole.Told) next(echo)).text().equals(large)).isTrue();

            RemoteRole big = start(peer, "big", 30 << 20);
            assertThat(((RemoteRole.Told) next(big)).text()).hasSize(30 << 20);
        }
    }

    @Test
    void linesForPeopleComeWithTheirKind() throws Exception {
        try (Peer peer = peer()) {
            RemoteRole role = start(peer, "say", 0);

            assertThat(next(role)).isEqualTo(new RemoteRole.Said(LineKind.PRINTED, "printed"));
            assertThat(next(role)).isEqualTo(new RemoteRole.Said(LineKind.TRACED, "traced"));
        }
    }

    @Test
    void whatThreadsOfARoleSayAfterItsEndHarmsNobody() throws Exception {
        try (Peer peer = peer()) {
            RemoteRole waiting = start(peer, "wait", 0);
            waits(waiting);
            result(start(peer, "late", 0));
            result(start(peer, "of the late", 0));

            assertThat(peer.isAlive()).isTrue();
            waiting.cancel();
            result(waiting);
        }
    }

    @Test
    void aCancelledRoleEndsAndTheOthersGoOn() throws Exception {
        try (Peer peer = peer()) {
            RemoteRole first = start(peer, "wait", 0);
            RemoteRole second = start(peer, "wait", 0);
            waits(first);
            waits(second);
            first.cancel();

            result(first);
            RemoteRole third = start(peer, "echo", 1);
            third.tell("still there");
            assertThat(next(third)).isEqualTo(new RemoteRole.Told("still there"));
            second.cancel();
            result(second);
        }
    }

    @Test
    void silenceOfARoleIsNoSilenceOfItsNode() throws Exception {
        try (Peer peer = peer(IMPATIENT)) {
            RemoteRole role = start(peer, "wait", 0);
            waits(role);

            assertThat(role.next(IMPATIENT.patience().plusSeconds(2))).isNull();
            assertThat(peer.isAlive()).isTrue();
        }
    }

    @Test
    void whatIsPrintedOnTheNodeGoesToItsLog() throws Exception {
        try (Peer peer = peer()) {
            result(start(peer, "print", 0));
            // The log has a pipe of its own: each answer gives it time.
            long deadline = System.nanoTime() + STEP.toNanos();
            while (peer.log().isEmpty() && System.nanoTime() - deadline < 0) {
                result(start(peer, "echo", 0));
            }
            assertThat(peer.log()).contains("printed by a library");
            assertThat(failure(start(peer, "fail", 0)).getSuppressed()[0]).hasMessageContaining("printed by a library");
        }
    }

    // ---- failures of roles ----

    @Test
    void aFailureKeepsItsCauseAndTellsWhereItCameFrom() throws Exception {
        try (Peer peer = peer()) {
            RemoteFailureException origin = (RemoteFailureException) failure(start(peer, "fail", 0));

            assertThat(origin).hasMessage(new RdmaException("ibv_reg_mr", "4096 bytes", 12).getMessage());
            assertThat(origin.rdmaCause()).isEqualTo(Cause.OUT_OF_MEMORY);
            assertThat(origin.node()).startsWith(node).contains("process " + peer.pid());
            assertThat(origin.stack()).contains("TestAgent.run");
            assertThat(origin.diagnosis()).contains("diagnosis of fail");
            assertThat(peer.isAlive()).isTrue();
        }
    }

    @Test
    void anUnknownRoleIsAFailure() throws Exception {
        try (Peer peer = peer()) {
            assertThat(failure(start(peer, "no-such-role", 0)))
                    .isInstanceOf(RemoteFailureException.class)
                    .hasMessageContaining("no-such-role");
        }
    }

    // ---- no agent ----

    @Test
    void aCommandThatIsNotThere() {
        PeerLostException loss = lost(() -> Peer.start(node, List.of("no-such-command", "x"), SETTINGS));

        assertThat(loss.reason()).isEqualTo(Reason.NOT_STARTED);
        assertThat(loss).hasMessageContaining("node " + node).hasMessageContaining("no-such-command x");
    }

    @Test
    void aCommandThatEndsBeforeTheHelloIsNamedWithItsStatusAndLog() {
        PeerLostException loss = lost(() -> shell("echo on stdout; echo Permission denied >&2; exit 255"));

        assertThat(loss.reason()).isEqualTo(Reason.ENDED);
        assertThat(loss.exitStatus()).hasValue(255);
        assertThat(loss.log()).contains("on stdout", "Permission denied");
        assertThat(loss)
                .hasMessageContaining("node " + node)
                .hasMessageContaining("exit status 255 before its agent said hello")
                .hasMessageContaining("Permission denied");
        nothingIsLeft();
    }

    /** What a command wrote before its end is still in the pipe after it, if there is much of it or the reader is late. */
    @Test
    void theLogIsReadToItsEndAlsoWhenTheCommandEndedLongBefore() {
        PeerLostException loss =
                lost(() -> shell("head -c 60000 /dev/zero | tr '\\0' '\\n' >&2; echo Permission denied >&2; exit 255"));

        assertThat(loss.exitStatus()).hasValue(255);
        assertThat(loss.log()).endsWith("Permission denied");
        nothingIsLeft();
    }

    @Test
    void anotherVersionIsNamedTogetherWithThisOne() {
        PeerLostException loss =
                lost(() -> shell("echo '{\"type\":\"hello\",\"version\":99,\"more\":true}'; exec sleep 60"));

        assertThat(loss.reason()).isEqualTo(Reason.VERSION);
        assertThat(loss).hasMessageContaining("version 99").hasMessageContaining("version " + Wire.VERSION);
        nothingIsLeft();
    }

    @Test
    void aBannerBeforeTheHelloIsSkippedAndKept() throws Exception {
        try (Peer peer = shell("printf 'Welcome to b\\n{\"not\": \"ours\"}\\n{broken\\n'; exec \"$@\"")) {
            result(start(peer, "echo", 0));

            assertThat(peer.log()).containsSequence("Welcome to b", "{\"not\": \"ours\"}", "{broken");
        }
    }

    /** A greeting, or the escape sequence of a window's title. */
    @Test
    void aBannerWithoutTheEndOfALineIsSkippedAndKept() throws Exception {
        try (Peer peer = shell("printf 'Hello {you}\\n\\033]0;b\\007Welcome '; exec \"$@\"")) {
            result(start(peer, "echo", 0));

            assertThat(peer.log()).containsSequence("Hello {you}", "\033]0;b\007Welcome ");
        }
    }

    @Test
    void aHelloThatCannotBeReadIsNotWaitedFor() {
        PeerLostException loss = lost(() -> shell("echo 'Welcome {\"type\":\"hello\",\"vers'; exec sleep 60"));

        assertThat(loss.reason()).isEqualTo(Reason.GARBAGE);
        assertThat(loss).hasMessageContaining("sent a hello that can't be parsed: \"{\"type\":\"hello\",\"vers\"");
        assertThat(loss.log()).contains("Welcome ");
        nothingIsLeft();
    }

    @Test
    void aPromptIsShownToWhoeverWaitedForTheHello() {
        PeerSettings settings = SETTINGS.withStart(Duration.ofSeconds(1));
        PeerLostException loss =
                lost(() -> Peer.start(node, List.of("sh", "-c", "printf 'Password: '; exec sleep 60"), settings));

        assertThat(loss.reason()).isEqualTo(Reason.SILENT);
        assertThat(loss).hasMessageContaining("did not say hello within").hasMessageContaining("Password: ");
        nothingIsLeft();
    }

    @Test
    void aLineWithoutEndIsGarbage() {
        PeerLostException loss = lost(() -> shell("yes | tr -d '\\n'"));

        assertThat(loss.reason()).isEqualTo(Reason.GARBAGE);
        assertThat(loss).hasMessageContaining("characters but no hello; they begin with \"yyyy");
        nothingIsLeft();
    }

    @Test
    void aBannerWithoutEndIsGarbage() {
        PeerLostException loss = lost(() -> shell("exec yes and so on"));

        assertThat(loss.reason()).isEqualTo(Reason.GARBAGE);
        assertThat(loss).hasMessageContaining("\"and so on\"");
        assertThat(loss.log()).hasSizeLessThanOrEqualTo(200);
        nothingIsLeft();
    }

    @Test
    void whoeverSaysNothingIsNotWaitedForForEver() throws Exception {
        PeerSettings settings = SETTINGS.withStart(Duration.ofSeconds(5));
        // The shell waits for its child, which is killed, too.
        String script = "sleep 600 & echo $! >&2; wait; exit 0";
        PeerLostException loss = lost(() -> Peer.start(node, List.of("sh", "-c", script), settings));

        assertThat(loss.reason()).isEqualTo(Reason.SILENT);
        assertThat(loss).hasMessageContaining("did not say hello within");
        awaitEnd(Long.parseLong(loss.log().getFirst()));
        nothingIsLeft();
    }

    // ---- an agent that goes away ----

    @Test
    void anAgentThatEndsInMidRoleIsNamedWithItsStatusAndLog() throws Exception {
        try (Peer peer = peer()) {
            RemoteRole other = start(peer, "wait", 0);
            waits(other);
            PeerLostException loss = lost(start(peer, "halt", 7));

            assertThat(loss.reason()).isEqualTo(Reason.ENDED);
            assertThat(loss.exitStatus()).hasValue(7);
            assertThat(loss).hasMessageContaining("node " + node).hasMessageContaining("about to go");
            assertThat(lost(other).exitStatus()).hasValue(7);
            assertThat(lost(start(peer, "echo", 0)).exitStatus()).hasValue(7);
            assertThat(peer.isAlive()).isFalse();
        }
        nothingIsLeft();
    }

    @Test
    void anAgentThatIsKilledIsMissedAtOnce() throws Exception {
        try (Peer peer = peer()) {
            RemoteRole role = start(peer, "wait", 0);
            waits(role);
            signal("KILL", peer.pid());

            PeerLostException loss = lost(role);
            assertThat(loss.exitStatus()).hasValue(137);
            assertThat(loss).hasMessageContaining("signal 9");
        }
        nothingIsLeft();
    }

    @Test
    void anAgentThatHangsIsMissedAndKilled() throws Exception {
        long pid;
        try (Peer peer = peer(IMPATIENT)) {
            pid = peer.pid();
            RemoteRole role = start(peer, "wait", 0);
            waits(role);
            signal("STOP", pid);

            PeerLostException loss = lost(role);
            assertThat(loss.reason()).isEqualTo(Reason.SILENT);
            assertThat(loss).hasMessageContaining("node " + node).hasMessageContaining("has sent nothing for");
        }
        awaitEnd(pid);
        nothingIsLeft();
    }

    @Test
    void anAgentThatHangsWhileMuchIsToldIsMissedToo() throws Exception {
        try (Peer peer = peer(IMPATIENT)) {
            RemoteRole role = start(peer, "wait", 0);
            waits(role);
            signal("STOP", peer.pid());
            // More than a pipe takes: whoever writes is stuck.
            role.tell("z".repeat(1 << 20));

            assertThat(lost(role).reason()).isEqualTo(Reason.SILENT);
        }
        nothingIsLeft();
    }

    @Test
    void garbageOnTheChannelIsQuoted() throws Exception {
        try (Peer peer = peer()) {
            PeerLostException loss = lost(start(peer, "garbage", 0));

            assertThat(loss.reason()).isEqualTo(Reason.GARBAGE);
            assertThat(loss).hasMessageContaining("\"segmentation fault in libfoo\"");
        }
        nothingIsLeft();
    }

    @Test
    void closingKillsWhoeverDoesNotEndWithAllItsChildren() throws Exception {
        long pid;
        long child;
        PeerSettings settings = SETTINGS.withGrace(Duration.ofMillis(500));
        List<String> command =
                new ArrayList<>(List.of("sh", "-c", "sleep 600 >/dev/null & echo child $! >&2; \"$@\"; wait", "sh"));
        command.addAll(TestAgent.command());
        try (Peer peer = Peer.start(node, command, settings)) {
            pid = peer.pid();
            waits(start(peer, "stubborn", 0));
            child = Long.parseLong(peer.log().stream()
                    .filter(line -> line.startsWith("child "))
                    .findFirst()
                    .orElseThrow()
                    .substring("child ".length()));
        }
        awaitEnd(pid);
        awaitEnd(child);
        nothingIsLeft();
    }

    @Test
    void aClosedPeerTakesNoRolesAndEndsThoseItHas() throws Exception {
        Peer peer = peer();
        RemoteRole role = start(peer, "wait", 0);
        waits(role);
        peer.close();
        peer.close();

        assertThat(next(role)).isInstanceOfAny(RemoteRole.Done.class, RemoteRole.Failed.class);
        assertThatThrownBy(() -> start(peer, "echo", 0)).isInstanceOf(IllegalStateException.class);
        nothingIsLeft();
    }

    // ---- a parent that goes away ----

    private static long[] launchParent(Process[] started, String role) throws IOException {
        List<String> command = new ArrayList<>(TestAgent.java(TestParent.class.getName()));
        command.add(role);
        Process parent = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        started[0] = parent;
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(parent.getInputStream(), StandardCharsets.UTF_8));
        Matcher matcher = Pattern.compile("Told\\[text=waiting] in (\\d+)").matcher(String.valueOf(lines.readLine()));
        assertThat(matcher.matches()).isTrue();
        return Stream.concat(
                        Stream.of(Long.parseLong(matcher.group(1))),
                        parent.descendants().map(ProcessHandle::pid))
                .mapToLong(Long::longValue)
                .toArray();
    }

    @Test
    void nothingIsLeftOfAnAgentWhoseParentIsKilled() throws Exception {
        for (String role : new String[] {"wait", "stubborn"}) {
            Process[] parent = new Process[1];
            long[] left = launchParent(parent, role);
            assertThat(left).hasSizeGreaterThan(2);
            parent[0].destroyForcibly();

            for (long pid : left) {
                awaitEnd(pid);
            }
        }
    }

    @Test
    void anAgentWhoseParentHangsEnds() throws Exception {
        Process[] parent = new Process[1];
        long[] left = launchParent(parent, "wait");
        try {
            signal("STOP", parent[0].pid());
            awaitEnd(left[0]);
        } finally {
            parent[0].destroyForcibly();
        }
        for (long pid : left) {
            awaitEnd(pid);
        }
    }

    @Test
    void noDescriptorNoThreadAndNoProcessIsLeft() throws Exception {
        List<String> command = new ArrayList<>(TestAgent.java(TestParent.class.getName()));
        command.add("count");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(said).contains("descriptors +0, threads +0, children 0");
        assertThat(process.waitFor()).isZero();
    }
}
