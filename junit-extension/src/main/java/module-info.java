import org.jspecify.annotations.NullMarked;

/**
 * Gives JUnit tests an RDMA device and the resources on it: {@code @RdmaTest} and everything around it.
 *
 * <p>A test module requires it and opens its own test packages to {@code org.junit.platform.commons}, as for any JUnit test.
 */
@NullMarked
module io.rdmatest.junit {
    requires transitive io.rdmatest.core;
    requires transitive io.rdmatest.fabric;
    requires static org.jspecify;
    requires transitive org.junit.jupiter.api;
    requires transitive org.junit.jupiter.params;
    requires transitive HdrHistogram;
    requires java.management;
    requires org.snakeyaml.engine;

    exports io.rdmatest.junit;
    exports io.rdmatest.junit.condition;
    exports io.rdmatest.junit.fabric;
    exports io.rdmatest.junit.params;

    uses io.rdmatest.junit.RdmaEngine;
    uses io.rdmatest.junit.RdmaTestPlugin;

    provides io.rdmatest.junit.RdmaEngine with
            io.rdmatest.junit.engine.Engine;

    // JUnit creates the extensions, conditions and sources, which are not public.
    opens io.rdmatest.junit.condition to
            org.junit.platform.commons;
    opens io.rdmatest.junit.fabric to
            org.junit.platform.commons;
    opens io.rdmatest.junit.params to
            org.junit.platform.commons;
}
