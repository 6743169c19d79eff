package io.rdmatest;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Lists the native objects of this JVM that are not yet closed. */
public final class Ledger {

    static final Object LOCK = new Object();
    /** In order of creation; guarded by {@link #LOCK}. */
    static final Set<NativeResource> LIVE = new LinkedHashSet<>();

    private Ledger() {}

    /** Returns the live objects in the order of their creation; may be empty. */
    public static List<NativeResource> live() {
        synchronized (LOCK) {
            return List.copyOf(LIVE);
        }
    }

    /** Returns one line per live object: its name and where it was created; may be empty. */
    public static String describeLive() {
        return describe(live());
    }

    /**
     * Describes objects for a message.
     *
     * @param resources the objects; may be empty
     * @return one line per object: its name and where it was created
     */
    public static String describe(List<NativeResource> resources) {
        return resources.stream()
                .map(resource -> resource.describe() + " created at " + resource.createdAt())
                .collect(Collectors.joining(System.lineSeparator()));
    }
}
