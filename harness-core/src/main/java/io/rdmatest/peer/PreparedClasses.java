package io.rdmatest.peer;

import java.util.List;

/** This JVM's ahead-of-time class cache, for child JVMs with the same class path. */
public final class PreparedClasses {

    private static final String CACHE = "rdmatest.aot";

    private PreparedClasses() {}

    /** Returns the JVM options by which a child uses the same cache; empty if this JVM has none. */
    public static List<String> options() {
        String cache = System.getProperty(CACHE);
        // A child that can't use the cache starts without it, and without a warning.
        return cache == null ? List.of() : List.of("-XX:AOTCache=" + cache, "-Xlog:aot=off", "-Xlog:cds=off");
    }
}
