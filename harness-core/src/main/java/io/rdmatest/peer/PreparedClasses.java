package io.rdmatest.peer;

import java.util.List;

/** The classes that this JVM started with ready, for JVMs that it starts with its own class path. */
public final class PreparedClasses {

    private static final String CACHE = "rdmatest.aot";

    private PreparedClasses() {}

    /** Returns the options of the JVM by which a child has them ready too; none where this JVM has not. */
    public static List<String> options() {
        String cache = System.getProperty(CACHE);
        // Where a child can't use the cache, it does without and says nothing.
        return cache == null ? List.of() : List.of("-XX:AOTCache=" + cache, "-Xlog:aot=off", "-Xlog:cds=off");
    }
}
