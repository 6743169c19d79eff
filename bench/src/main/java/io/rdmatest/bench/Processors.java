package io.rdmatest.bench;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.scenarios.engine.Role;
import io.rdmatest.scenarios.interop.CProgram;
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
import java.util.function.IntPredicate;

/**
 * The two processors that the ends of a row are bound to where both poll without pause, the program's (taskset(1)) as well as
 * ours (sched_setaffinity(2)). Left to the scheduler, both now and then share a processor while the other one is idle, and a
 * message takes as long as it takes until they change places.
 *
 * @param server the server's, as the kernel numbers them, 0 to 8191
 * @param client the client's, another one
 */
record Processors(int server, int client) {

    private static final int NONE = -1;

    /** As many as Linux can have. */
    private static final int MOST = 8192;

    /** Neither end is bound. */
    public static final Processors ANY = new Processors(NONE, NONE);

    private static final int MASK_BYTES = MOST / Byte.SIZE;
    private static final String TASKSET = "taskset";
    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final Path PROCESSORS = Path.of("/sys/devices/system/cpu");

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is out of range, or both are the same
     */
    public Processors {
        boolean any = server == NONE && client == NONE;
        if (!any && (server < 0 || server >= MOST || client < 0 || client >= MOST || server == client)) {
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

        /** Tells whether the calling thread's mask was read or set. */
        static boolean succeeds(MethodHandle call, MemorySegment mask) {
            try {
                return (int) call.invokeExact(0, (long) MASK_BYTES, mask) == 0;
            } catch (Throwable e) {
                throw new IllegalStateException("A call of the C library failed", e);
            }
        }
    }

    /**
     * Chooses two for the ends: those that this thread may use, near to the device if there are two, and not of the same core if
     * there are two cores.
     *
     * @param device the RDMA device's name
     * @return {@link #ANY} if this thread may use only one, or nothing can bind the programs
     */
    public static Processors near(String device) {
        if (CProgram.find(TASKSET).isEmpty()) {
            return ANY;
        }
        String node = "node" + read(DEVICES.resolve(device).resolve("device/numa_node"));
        return choose(
                allowed(),
                processor -> Files.exists(of(processor).resolve(node)),
                processor -> read(of(processor).resolve("topology/thread_siblings_list")));
    }

    /**
     * Chooses two.
     *
     * @param allowed those that this thread may use
     * @param near tells whether one is of the device's node
     * @param core the name of a processor's core, the same for all that are of it
     * @return {@link #ANY} if less than two are allowed
     */
    static Processors choose(BitSet allowed, IntPredicate near, IntFunction<String> core) {
        int[] those = allowed.stream().filter(near).toArray();
        int[] candidates = those.length < 2 ? allowed.stream().toArray() : those;
        if (candidates.length < 2) {
            return ANY;
        }
        String first = core.apply(candidates[0]);
        for (int processor : candidates) {
            if (!core.apply(processor).equals(first)) {
                return new Processors(candidates[0], processor);
            }
        }
        return new Processors(candidates[0], candidates[1]);
    }

    /** Returns those that the calling thread may use and that are there, sched_getaffinity(2). */
    static BitSet allowed() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, Long.BYTES);
            if (!Calls.succeeds(Calls.GET, mask)) {
                throw new IllegalStateException("The kernel does not tell which processors this process may use");
            }
            return BitSet.valueOf(mask.toArray(JAVA_LONG));
        }
    }

    private static Path of(int processor) {
        return PROCESSORS.resolve("cpu" + processor);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            // A device of software is of no node.
            return "";
        }
    }

    /**
     * Returns what is put before a command so that it runs on one of them.
     *
     * @param processor that of an end
     */
    static List<String> binding(int processor) {
        return processor == NONE ? List.of() : List.of(TASKSET, "-c", Integer.toString(processor));
    }

    /**
     * Returns a role that runs on one of them.
     *
     * @param processor that of an end
     * @param role what it does
     */
    static <R> Role<R> on(int processor, Role<R> role) {
        return context -> {
            try (Binding ignored = new Binding(processor)) {
                return role.run(context);
            }
        };
    }

    @Override
    public String toString() {
        return equals(ANY) ? "none in particular" : "server " + server + ", client " + client;
    }

    /** Binds the calling thread, and the threads that it starts, until it is closed by the same thread. */
    static final class Binding implements AutoCloseable {

        private final Arena arena = Arena.ofConfined();
        private final MemorySegment before = arena.allocate(MASK_BYTES, Long.BYTES);
        private final boolean bound;

        /**
         * Binds.
         *
         * @param processor that of an end
         * @throws IllegalStateException if this thread may not use it
         */
        Binding(int processor) {
            bound = processor != NONE;
            if (bound) {
                MemorySegment mask = arena.allocate(MASK_BYTES, Long.BYTES);
                mask.setAtIndex(JAVA_LONG, processor / Long.SIZE, 1L << processor % Long.SIZE);
                if (!Calls.succeeds(Calls.GET, before) || !Calls.succeeds(Calls.SET, mask)) {
                    arena.close();
                    throw new IllegalStateException("The kernel does not let this process run on processor " + processor
                            + " (taskset, cpuset)");
                }
            }
        }

        @Override
        public void close() {
            try (arena) {
                if (bound && !Calls.succeeds(Calls.SET, before)) {
                    throw new IllegalStateException("The kernel does not let this thread back to its processors");
                }
            }
        }
    }
}
