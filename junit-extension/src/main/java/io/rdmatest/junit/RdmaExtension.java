package io.rdmatest.junit;

import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.ServiceLoader;
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
 * static field serves the whole class and its {@code @Nested} classes; an instance field serves each test. Most tests need no
 * more than the methods below; {@link #resources()} has all.
 *
 * <p>A setting is looked for in this order: annotation of the parameter, method, class, enclosing class; builder of an
 * instance field, of a static field, of one of an enclosing class; configuration parameter, system property,
 * {@code junit-platform.properties}; default.
 */
public abstract sealed class RdmaExtension implements Extension permits RdmaTestExtension {

    static {
        // A field is initialized before JUnit looks at annotations.
        JUnitVersion ignored = new JUnitVersion();
    }

    static final RdmaEngine ENGINE = ServiceLoader.load(RdmaEngine.class, RdmaEngine.class.getClassLoader())
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("The service " + RdmaEngine.class.getName()
                    + " is missing: a jar made of junit-extension has to keep its META-INF/services"));

    /**
     * The settings of a builder.
     *
     * @param values the values of configuration keys; never null
     * @param device the device as {@link OnDevice#value()} names it; empty for the configuration's
     * @param node the node as {@link OnDevice#node()} names it; empty for the configuration's
     * @param connections the options of injected connections; null for the usual ones
     */
    public record Settings(
            Map<String, String> values,
            String device,
            String node,
            @Nullable ConnectionOptions connections) {

        static final Settings NONE = new Settings(Map.of(), "", "", null);
    }

    private final Settings settings;

    RdmaExtension(Settings settings) {
        this.settings = settings;
    }

    /**
     * Get the settings of the builder.
     *
     * @return the settings; never null
     */
    public final Settings settings() {
        return settings;
    }

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
    public final RdmaResources resources() {
        return ENGINE.resources();
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
    public final RdmaReport report() {
        return ENGINE.report();
    }

    /** Describes an extension. Every method checks its argument and returns the builder. */
    public static final class Builder {

        private final Map<String, String> values = new HashMap<>();
        private String device = "";
        private String node = "";
        private @Nullable ConnectionOptions connections;

        private Builder() {}

        /**
         * Run on a device, as {@link OnDevice @OnDevice} does.
         *
         * @param name the device, such as {@code rxe0} or {@code mlx5_0/2}; not blank
         * @return this builder
         */
        public Builder device(String name) {
            device = text("device", name);
            node = "";
            return this;
        }

        /**
         * Run on the device of a node, as {@link OnDevice#node()} does.
         *
         * @param name the node; not blank
         * @return this builder
         */
        public Builder node(String name) {
            node = text("node", name);
            device = "";
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
            return new RdmaTestExtension(new Settings(Map.copyOf(values), device, node, connections));
        }
    }
}
