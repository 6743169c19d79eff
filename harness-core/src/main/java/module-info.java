import org.jspecify.annotations.NullMarked;

/**
 * Reaches RDMA devices from Java: libibverbs, librdmacm and rsockets as object models, a byte stream on top of
 * them, and a channel to other JVMs.
 *
 * <p>The module calls native code. The JVM has to be told with {@code --enable-native-access=io.rdmatest.core}, or with
 * {@code --enable-native-access=ALL-UNNAMED} where the jar is on the class path.
 */
@NullMarked
module io.rdmatest.core {
    requires static org.jspecify;
    // Of io.rdmatest.peer only. With "transitive" the compiler wants it of every module that requires this one.
    requires static com.fasterxml.jackson.databind;

    exports io.rdmatest;
    exports io.rdmatest.cm;
    exports io.rdmatest.connect;
    exports io.rdmatest.peer;
    exports io.rdmatest.rsocket;
    exports io.rdmatest.stream;
    exports io.rdmatest.verbs;
    exports io.rdmatest.wire;

    // The messages are not public.
    opens io.rdmatest.peer to
            com.fasterxml.jackson.databind;
}
