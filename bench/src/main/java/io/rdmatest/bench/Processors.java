package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.ProcessorBinding;
import io.rdmatest.scenarios.role.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

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

    private static final int MOST = ProcessorBinding.MOST;

    /** Neither end is bound. */
    public static final Processors ANY = new Processors(NONE, NONE);

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
                ProcessorBinding.allowed(),
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
     * Starts a C program on one of them.
     *
     * @param step how long each wait for it may take
     * @param processor that of an end
     * @param program its name, looked for on the {@code PATH}
     * @param arguments its arguments
     */
    static CProgram start(Duration step, int processor, String program, Object... arguments) throws IOException {
        if (processor == NONE) {
            return CProgram.start(step, program, arguments);
        }
        List<Object> words = new ArrayList<>(List.of("-c", processor, program));
        words.addAll(Arrays.asList(arguments));
        return CProgram.start(step, TASKSET, words.toArray());
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

        private final @Nullable ProcessorBinding binding;

        /**
         * Binds.
         *
         * @param processor that of an end
         * @throws IllegalStateException if this thread may not use it
         */
        Binding(int processor) {
            if (processor == NONE) {
                binding = null;
                return;
            }
            BitSet one = new BitSet();
            one.set(processor);
            binding = ProcessorBinding.to(one);
        }

        @Override
        public void close() {
            if (binding != null) {
                binding.close();
            }
        }
    }
}
