package io.rdmatest.scenarios.node;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.Deadline;
import io.rdmatest.KernelLog;
import io.rdmatest.Ledger;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.peer.Agent;
import io.rdmatest.peer.LineKind;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The agent that runs roles on another node: the main class of {@code rdmatest-agent.jar}. */
public final class RoleAgent {

    private static final Duration SLICE = Duration.ofMillis(20);

    private RoleAgent() {}

    /**
     * Runs roles until the launching side ends the channel.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        Agent.main(PeerSettings.ofAgent(), new Runner());
    }

    private static final class Runner implements Agent.Runner {

        private final Map<Agent.Task, Context> contexts = new ConcurrentHashMap<>();

        @Override
        public JsonNode run(Agent.Task task) {
            Context context = new Context(task);
            contexts.put(task, context);
            JsonNode result = RoleTypes.named(task.kind()).run(task.parameters(), task::say, context);
            contexts.remove(task);
            return result;
        }

        @Override
        public String diagnose(Agent.Task task, Throwable failure) {
            Context context = contexts.remove(task);
            List<String> lines = new ArrayList<>();
            if (failure instanceof RoleCancelledException) {
                return "";
            }
            if (context != null) {
                context.describe(lines);
                part(lines, "kernel log since the role began", () -> KernelLog.since(context.kernelLog));
            }
            part(lines, "native objects that are not closed", () -> List.of(Ledger.describeLive()));
            return String.join(System.lineSeparator(), lines);
        }
    }

    /** Adds a part of the diagnosis. A failure of one part does not prevent the others. */
    private static void part(List<String> lines, String title, Supplier<List<String>> text) {
        try {
            List<String> found =
                    text.get().stream().filter(line -> !line.isBlank()).toList();
            lines.add(title + (found.isEmpty() ? ": none" : ":"));
            found.forEach(line -> lines.add("  " + line));
        } catch (RuntimeException e) {
            lines.add(title + ": unknown, " + e.getMessage());
        }
    }

    private static final class Context implements RoleContext {

        private final Agent.Task task;
        private final long kernelLog = KernelLog.mark();
        private @Nullable FabricDevice device;
        private Map<String, Long> counters = Map.of();

        Context(Agent.Task task) {
            this.task = task;
        }

        /** Resolved on demand: not every role needs a device, and it may have changed since the last role. */
        @Override
        public synchronized FabricDevice device() {
            FabricDevice known = device;
            if (known == null) {
                known = placed().toNode().resolve();
                device = known;
                counters = known.counters();
            }
            return known;
        }

        @Override
        public InetAddress peerAddress() {
            InetAddress peer = placed().peer();
            return peer != null ? Addresses.ofPeer(peer, this::device) : device().address();
        }

        private PlacedNode placed() {
            return RoleTypes.read("node", task.place(), PlacedNode.class);
        }

        @Override
        public void tell(String message) {
            task.tell(message);
        }

        @Override
        public String hear(String what, Duration timeout) {
            Deadline deadline = Deadline.after(timeout);
            while (true) {
                checkCancelled();
                try {
                    Optional<String> message = task.hear(SLICE);
                    if (message.isPresent()) {
                        return message.get();
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new RoleCancelledException();
                }
                if (deadline.isOver()) {
                    throw new RdmaTimeoutException(what, deadline, "the other side sent nothing");
                }
            }
        }

        @Override
        public void trace(Supplier<String> what) {
            task.say(LineKind.TRACED, what.get());
        }

        @Override
        public boolean isCancelled() {
            return task.isCancelled();
        }

        synchronized void describe(List<String> lines) {
            FabricDevice used = device;
            if (used == null) {
                lines.add("device: not used by the role");
                return;
            }
            part(
                    lines,
                    "device at the role's start",
                    () -> used.environment().entrySet().stream()
                            .map(entry -> entry.getKey() + ": " + entry.getValue())
                            .toList());
            part(
                    lines,
                    "port now",
                    () -> List.of(placed().toNode().resolve().portAttributes().toString()));
            part(lines, "counters of the port that increased meanwhile", () -> growth(counters, used.counters()));
        }

        private static List<String> growth(Map<String, Long> before, Map<String, Long> now) {
            List<String> grown = new ArrayList<>();
            now.forEach((name, value) -> {
                long by = value - before.getOrDefault(name, 0L);
                if (by > 0) {
                    grown.add(name + " +" + by);
                }
            });
            return grown;
        }
    }
}
