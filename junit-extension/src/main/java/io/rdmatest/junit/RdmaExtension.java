package io.rdmatest.junit;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.engine.Quantity;
import io.rdmatest.junit.engine.Selection;
import io.rdmatest.junit.engine.Settings;
import io.rdmatest.junit.engine.TestExtension;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.Extension;

/**
 * The extension behind {@link RdmaTest @RdmaTest}, and its programmatic form: a field of this type does all that the
 * annotations do, with or without them beside it.
 *
 * {@snippet :
 * class WriteTest {
 *
 *     @RegisterExtension
 *     static final RdmaExtension rdma = RdmaExtension.builder().device("rxe0").timeout(Duration.ofSeconds(20)).build();
 *
 *     @Test
 *     void arrives() {
 *         Connection connection = rdma.connection();
 *         MemoryRegion target = rdma.memory(1 << 20);
 *     }
 * }
 * }
 *
 * <p>What it hands out lives as long as what asks for it: in a test or {@code @BeforeEach} method as long as the test, in a
 * dynamic test as long as that, in a {@code @BeforeAll} method as long as the class; {@link #in(ResourceScope)} chooses. A
 * static field serves the whole class and its {@code @Nested} classes; an instance field serves each test.
 *
 * <p>A setting is looked for in this order: annotation of the parameter, method, class, enclosing class; builder of an
 * instance field, of a static field, of one of an enclosing class; configuration parameter, system property,
 * {@code junit-platform.properties}; default.
 */
public abstract class RdmaExtension implements Extension {

    /** For the one class that does the work. */
    protected RdmaExtension() {}

    /**
     * Begin to describe an extension for a field with {@code @RegisterExtension}.
     *
     * @return the builder; never null
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Get the resources of the test or lifecycle method that the calling thread is in; other threads of the test may use
     * them.
     *
     * @return the resources; never null
     * @throws IllegalStateException if the calling thread is in none
     */
    public abstract RdmaResources resources();

    /**
     * Take resources from another device: {@link RdmaResources#onDevice(String)}.
     *
     * @param name what {@link OnDevice#value()} says; never null
     * @return the resources; never null
     */
    public final RdmaResources onDevice(String name) {
        return resources().onDevice(name);
    }

    /**
     * Take resources from a node's device: {@link RdmaResources#onNode(String)}.
     *
     * @param name what {@link OnDevice#node()} says; never null
     * @return the resources; never null
     */
    public final RdmaResources onNode(String name) {
        return resources().onNode(name);
    }

    /**
     * Let resources live as long as another scope: {@link RdmaResources#in(ResourceScope)}.
     *
     * @param scope the scope; never null
     * @return the resources; never null
     */
    public final RdmaResources in(ResourceScope scope) {
        return resources().in(scope);
    }

    /**
     * Get the device: {@link RdmaResources#device()}.
     *
     * @return the device; never null
     */
    public final FabricDevice device() {
        return resources().device();
    }

    /**
     * Open a connection: {@link RdmaResources#connection()}.
     *
     * @return the connection; never null
     */
    public final Connection connection() {
        return resources().connection();
    }

    /**
     * Open a connection: {@link RdmaResources#connection(ConnectionOptions)}.
     *
     * @param options what it is like; never null
     * @return the connection; never null
     */
    public final Connection connection(ConnectionOptions options) {
        return resources().connection(options);
    }

    /**
     * Register memory: {@link RdmaResources#memory(long, Access...)}.
     *
     * @param size bytes, at least 1
     * @param access the access flags; none for all
     * @return the memory region; never null
     */
    public final MemoryRegion memory(long size, Access... access) {
        return resources().memory(size, access);
    }

    /**
     * Register memory where it is wanted: {@link RdmaResources#memory(long, MemoryPlacement, Access...)}.
     *
     * @param size bytes, at least 1
     * @param placement where it lies; never null
     * @param access the access flags; none for all
     * @return the memory region; never null
     */
    public final MemoryRegion memory(long size, MemoryPlacement placement, Access... access) {
        return resources().memory(size, placement, access);
    }

    /**
     * Create a queue pair: {@link RdmaResources#queuePair(QueuePairOptions)}.
     *
     * @param options what it is like; never null
     * @return the queue pair; never null
     */
    public final QueuePair queuePair(QueuePairOptions options) {
        return resources().queuePair(options);
    }

    /**
     * Create a completion queue: {@link RdmaResources#completionQueue(int, boolean)}.
     *
     * @param entries the least number of completions it holds, at least 1
     * @param events whether completions can be awaited as events
     * @return the queue; never null
     */
    public final CompletionQueue completionQueue(int entries, boolean events) {
        return resources().completionQueue(entries, events);
    }

    /**
     * Create a shared receive queue: {@link RdmaResources#sharedReceiveQueue(int, int)}.
     *
     * @param maxWr the most outstanding receives, at least 1
     * @param maxSge the most segments of one receive, at least 1
     * @return the queue; never null
     */
    public final SharedReceiveQueue sharedReceiveQueue(int maxWr, int maxSge) {
        return resources().sharedReceiveQueue(maxWr, maxSge);
    }

    /**
     * Create an rdma_cm id: {@link RdmaResources#id(PortSpace)}.
     *
     * @param portSpace its port space; never null
     * @return the id; never null
     */
    public final CmId id(PortSpace portSpace) {
        return resources().id(portSpace);
    }

    /**
     * Get the protection domain of the scope: {@link RdmaResources#protectionDomain()}.
     *
     * @return the protection domain; never null
     */
    public final ProtectionDomain protectionDomain() {
        return resources().protectionDomain();
    }

    /**
     * Get the reporter of the test that the calling thread is in.
     *
     * @return the reporter; never null
     */
    public abstract RdmaReport report();

    /** Describes an extension. Every method checks its argument and returns the builder. */
    public static final class Builder {

        private final Map<String, String> values = new HashMap<>();
        private @Nullable Selection selection;
        private @Nullable ConnectionOptions connections;

        private Builder() {}

        /**
         * Run on a device, as {@link OnDevice @OnDevice} does.
         *
         * @param name the device, such as {@code rxe0} or {@code mlx5_0/2}; not blank
         * @return this builder
         */
        public Builder device(String name) {
            selection = Selection.device(text("device", name));
            return this;
        }

        /**
         * Run on the device of a node, as {@link OnDevice#node()} does.
         *
         * @param name the node; not blank
         * @return this builder
         */
        public Builder node(String name) {
            selection = Selection.node(text("node", name));
            return this;
        }

        /**
         * Run on a fabric, as {@value FabricConfiguration#FABRIC} does.
         *
         * @param nameOrPath the fabric; not blank
         * @return this builder
         */
        public Builder fabric(String nameOrPath) {
            return configuration(FabricConfiguration.FABRIC, text("fabric", nameOrPath));
        }

        /**
         * Bound each test and lifecycle method in time, as {@link RdmaTest#timeout()} does.
         *
         * @param limit more than nothing and at most 24 h
         * @return this builder
         * @throws IllegalArgumentException out of this range
         */
        public Builder timeout(Duration limit) {
            return configuration(
                    RdmaConfiguration.TIMEOUT,
                    Quantity.duration(limit.toString()).toString());
        }

        /**
         * Choose how closely tests are checked for what they leave behind, as {@value RdmaConfiguration#AUDIT} does.
         *
         * @param level {@code ledger}, {@code kernel} or {@code off}
         * @return this builder
         */
        public Builder audit(String level) {
            return configuration(RdmaConfiguration.AUDIT, text("audit", level));
        }

        /**
         * Skip the tests where there is no device at all, as {@value RdmaConfiguration#SKIP_WITHOUT_DEVICE} does.
         *
         * @return this builder
         */
        public Builder skipWithoutDevice() {
            return configuration(RdmaConfiguration.SKIP_WITHOUT_DEVICE, "true");
        }

        /**
         * Describe the connections that are injected and opened without options of their own, as
         * {@link ConnectionSpec @ConnectionSpec} does.
         *
         * @param options what they are like; never null
         * @return this builder
         */
        public Builder connections(ConnectionOptions options) {
            connections = options;
            return this;
        }

        /**
         * Set any key of {@link RdmaConfiguration} for these tests. Other keys of the project, such as those of the scenarios
         * and their roles, are the run's: nothing but configuration parameters and system properties sets them.
         *
         * @param key one of its keys, {@code rdma.fabric}, {@code rdma.rail} or {@code rdma.device}
         * @param value its value
         * @return this builder
         * @throws IllegalArgumentException for another key
         */
        public Builder configuration(String key, String value) {
            if (!RdmaConfiguration.KEYS.contains(key)) {
                throw new IllegalArgumentException("\"" + key + "\" is no key that a builder can set; it can set "
                        + String.join(", ", new TreeSet<>(RdmaConfiguration.KEYS)));
            }
            values.put(key, text(key, value));
            return this;
        }

        private static String text(String what, String value) {
            if (value.isBlank()) {
                throw new IllegalArgumentException(what + " is blank");
            }
            return value.strip();
        }

        /**
         * Make the extension.
         *
         * @return the extension, for a field with {@code @RegisterExtension}; never null
         */
        public RdmaExtension build() {
            return new TestExtension(new Settings(Map.copyOf(values), selection, connections));
        }
    }
}
