package io.rdmatest.internal;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Hands objects from one package of this module to another, past users of the module, who can't get them. */
public final class SharedSecrets {

    private static final ConcurrentMap<Class<?>, Object> SHARED = new ConcurrentHashMap<>();

    private SharedSecrets() {}

    /**
     * Shares an object, which its class does in its initialiser.
     *
     * @param secret the only object of its class
     */
    public static void share(Object secret) {
        SHARED.put(secret.getClass(), secret);
    }

    /**
     * Returns the shared object of a class, and initialises the class before.
     *
     * @param type the class, which {@linkplain #share shares} an object
     * @throws IllegalStateException if it shares none
     */
    public static <T> T of(Class<T> type) {
        try {
            Object secret = SHARED.get(Class.forName(type.getName(), true, type.getClassLoader()));
            if (secret == null) {
                throw new IllegalStateException(type + " shares no object");
            }
            return type.cast(secret);
        } catch (ClassNotFoundException e) {
            throw new LinkageError(type + " is missing", e);
        }
    }
}
