/** Tests that are a module of their own: everything they use is on the module path. */
open module example.modular {
    requires io.rdmatest.junit;
    requires org.junit.jupiter.api;
}
