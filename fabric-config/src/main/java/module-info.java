import org.jspecify.annotations.NullMarked;

/** Fabrics: reads their files and finds the devices that tests run on. */
@NullMarked
module io.rdmatest.fabric {
    requires transitive io.rdmatest.core;
    requires static org.jspecify;
    requires static com.fasterxml.jackson.databind;
    requires org.snakeyaml.engine;

    exports io.rdmatest.fabric;
    exports io.rdmatest.fabric.fault;
    exports io.rdmatest.fabric.yaml to
            io.rdmatest.junit;
}
