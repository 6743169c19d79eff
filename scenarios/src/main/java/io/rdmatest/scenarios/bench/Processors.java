package io.rdmatest.scenarios.bench;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.scenarios.interop.CProgram;
import io.rdmatest.scenarios.role.Role;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The two processors that the ends of a row are bound to where both poll without pause, the program's (taskset(1)) as well as
 * ours (sched_setaffinity(2)). Left to the scheduler, both now and then share a processor while the other one is idle, and a
 * message takes as long as it takes until they change places.
 *
 * @param server the server's, as the kernel numbers them, 0 to 8191
 * @param client the client's, another one
 */
public record Processors(int server, int client) {

    /** As many as Linux can have. */
    private static final int MOST = 8192;

    private static final int MASK_BYTES = MOST / Byte.SIZE;
    private static final String TASKSET = "taskset";
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final Path TOPOLOGY = Path.of("/sys/devices/system/cpu");

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is out of range, or both are the same
     */
    public Processors {
        if (server < 0 || server >= MOST || client < 0 || client >= MOST || server == client) {
            throw new IllegalArgumentException(
                    "The ends need two processors from 0 to " + (MOST - 1) + ", not " + server + " and " + client);
        }
    }

    /** The calls, found when the first thread is bound. */
    private static final class Calls {

        static final MethodHandle GET = handle("sched_getaffinity");
        static final MethodHandle SET = handle("sched_setaffinity");

        private static MethodHandle handle(String name) {
            return Linker.nativeLinker()
                    .downcallHandle(
                            Linker.nativeLinker().defaultLookup().findOrThrow(name),
                            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
        }
    }

    /**
     * Chooses two for the ends: those that this process may use, near to the device if there are two, and not of the same core
     * if there are two cores.
     *
     * @param device the RDMA device's name
     * @return null if this process may use only one, or nothing can bind the programs
     */
    public static @Nullable Processors near(String device) {
        if (CProgram.find(TASKSET).isEmpty()) {
            return null;
        }
        BitSet near = list(read(DEVICES.resolve(device).resolve("device/local_cpulist")));
        return choose(allowed(), near, Processors::ofSameCore);
    }

    /**
     * Chooses two.
     *
     * @param allowed those that this process may use
     * @param near those of the device's node; empty if it has none
     * @param ofSameCore tells for a processor which ones are of its core
     * @return null if less than two are allowed
     */
    static @Nullable Processors choose(BitSet allowed, BitSet near, IntFunction<BitSet> ofSameCore) {
        BitSet candidates = (BitSet) allowed.clone();
        candidates.and(near);
        if (candidates.cardinality() < 2) {
            candidates = allowed;
        }
        int first = candidates.nextSetBit(0);
        int second = first < 0 ? -1 : candidates.nextSetBit(first + 1);
        if (second < 0) {
            return null;
        }
        BitSet others = (BitSet) candidates.clone();
        others.andNot(ofSameCore.apply(first));
        others.clear(first);
        return new Processors(first, others.isEmpty() ? second : others.nextSetBit(0));
    }

    /** Returns why the ends can't be bound to these; null if they can. */
    public @Nullable String hindrance() {
        BitSet allowed = allowed();
        if (!allowed.get(server) || !allowed.get(client)) {
            return "this process may use the processors " + allowed + " only (taskset, cpuset)";
        }
        return CProgram.find(TASKSET).isEmpty()
                ? TASKSET + " is not installed, which binds the programs: install util-linux, or leave it to the"
                        + " scheduler with any"
                : null;
    }

    /** Returns those that this process may use and that are there. */
    static BitSet allowed() {
        BitSet online = list(read(TOPOLOGY.resolve("online")));
        for (String line : read(STATUS).split("\n")) {
            if (line.startsWith("Cpus_allowed_list:")) {
                BitSet allowed = list(line.substring(line.indexOf(':') + 1));
                allowed.and(online);
                return allowed;
            }
        }
        return new BitSet();
    }

    private static BitSet ofSameCore(int processor) {
        return list(read(TOPOLOGY.resolve("cpu" + processor).resolve("topology/thread_siblings_list")));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            // A device of software has no node, and an old kernel no such list: nothing is known then.
            return "";
        }
    }

    /** Reads numbers as the kernel lists them: {@code 0-3,8}. */
    static BitSet list(String text) {
        BitSet numbers = new BitSet();
        for (String range : text.strip().split(",")) {
            if (!range.isBlank()) {
                String[] ends = range.strip().split("-", 2);
                numbers.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
            }
        }
        return numbers;
    }

    /**
     * Returns what is put before a command so that it runs on one of them.
     *
     * @param processor the processor
     */
    static List<String> binding(int processor) {
        return List.of(TASKSET, "-c", Integer.toString(processor));
    }

    /** Returns a role that runs on the server's processor. */
    <R> Role<R> ofServer(Role<R> role) {
        return bound(server, role);
    }

    /** Returns a role that runs on the client's processor. */
    <R> Role<R> ofClient(Role<R> role) {
        return bound(client, role);
    }

    private static <R> Role<R> bound(int processor, Role<R> role) {
        return context -> {
            try (Binding ignored = new Binding(processor)) {
                return role.run(context);
            }
        };
    }

    /** Binds the calling thread, and the threads that it starts, until it is closed by the same thread. */
    static final class Binding implements AutoCloseable {

        private final Arena arena = Arena.ofConfined();
        private final MemorySegment before = arena.allocate(MASK_BYTES, Long.BYTES);

        /**
         * Binds.
         *
         * @param processor the processor
         * @throws IllegalStateException if this process may not use it
         */
        Binding(int processor) {
            MemorySegment mask = arena.allocate(MASK_BYTES, Long.BYTES);
            int word = processor / Long.SIZE;
            mask.setAtIndex(JAVA_LONG, word, 1L << processor % Long.SIZE);
            // The kernel's own call returns how many bytes it wrote, that of the C library 0.
            if (call(Calls.GET, before) < 0 || call(Calls.SET, mask) != 0) {
                arena.close();
                throw new IllegalStateException(
                        "The kernel does not let this process run on processor " + processor + " (taskset, cpuset)");
            }
        }

        private static int call(MethodHandle handle, MemorySegment mask) {
            try {
                // 0 is the calling thread.
                return (int) handle.invokeExact(0, (long) MASK_BYTES, mask);
            } catch (Throwable e) {
                throw new IllegalStateException("A call of the C library failed", e);
            }
        }

        @Override
        public void close() {
            int ignored = call(Calls.SET, before);
            arena.close();
        }
    }
}
