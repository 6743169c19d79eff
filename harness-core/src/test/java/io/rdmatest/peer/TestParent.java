package io.rdmatest.peer;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** A JVM that launches an agent: one that a test may kill, or count the descriptors of. */
final class TestParent {

    private static final Duration STEP = Duration.ofSeconds(60);

    private TestParent() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("count")) {
            count();
            return;
        }
        // Through a shell that stays in between, as a launch command does.
        Peer peer = Peer.start(
                "b",
                Stream.concat(Stream.of("sh", "-c", "\"$@\"; exit", "sh"), TestAgent.command().stream())
                        .toList(),
                PeerSettings.defaults().withHeartbeat(Duration.ofMillis(300), Duration.ofSeconds(8)));
        RemoteRole role = start(peer, arguments[0]);
        RemoteRole.Event event = role.next(STEP);
        System.out.println(event + " in " + peer.pid());
        synchronized (peer) {
            while (true) {
                peer.wait();
            }
        }
    }

    /** Launches and closes agents, in all the ways in which they end, and prints what this process has before and after. */
    private static void count() throws Exception {
        round();
        long descriptors = descriptors();
        int threads = threads();
        for (int i = 0; i < 3; i++) {
            round();
        }
        System.out.println("descriptors +" + (descriptors() - descriptors) + ", threads +" + (threads() - threads)
                + ", children " + ProcessHandle.current().descendants().count());
    }

    private static void round() throws Exception {
        PeerSettings settings = PeerSettings.defaults().withGrace(Duration.ofSeconds(1));
        try (Peer peer = Peer.start("b", TestAgent.command(), settings)) {
            start(peer, "wait").next(STEP);
        }
        try (Peer peer = Peer.start("b", TestAgent.command(), settings)) {
            start(peer, "halt").next(STEP);
        }
        for (List<String> wrong : List.of(List.of("sh", "-c", "exit 5"), List.of("no-such-command"))) {
            try (Peer peer = Peer.start("b", wrong, settings)) {
                throw new AssertionError(peer + " came up");
            } catch (PeerLostException e) {
                continue;
            }
        }
    }

    private static RemoteRole start(Peer peer, String kind) {
        return peer.start(kind, kind, JsonNodeFactory.instance.objectNode(), JsonNodeFactory.instance.objectNode());
    }

    private static int threads() {
        return (int) Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-"))
                .count();
    }

    private static long descriptors() throws Exception {
        // What the collector would close is a leak nevertheless, so nothing is collected here.
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }
}
