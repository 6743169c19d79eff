import org.jspecify.annotations.NullMarked;

/** Says what a fabric is, reads its description, and finds the device that tests run on. */
@NullMarked
module io.rdmatest.fabric {
    requires transitive io.rdmatest.core;
    requires static org.jspecify;
    requires org.snakeyaml.engine;

    exports io.rdmatest.fabric;
    exports io.rdmatest.fabric.fault;
    exports io.rdmatest.fabric.yaml to
            io.rdmatest.junit;
}
