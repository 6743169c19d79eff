package io.rdmatest.walk;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The methods of an object that only look at it: they have no parameters and change nothing. */
final class Looks {

    /** Methods without parameters that change something, make something or take something. */
    private static final Set<String> NO_LOOKS = Set.of(
            "close",
            "allocateProtectionDomain",
            "createCompletionChannel",
            "createTarget",
            "openXrcDomain",
            "pollAsyncEvent",
            "pollEvent",
            "poll",
            "toError",
            "reset",
            "establish",
            "disconnect",
            "accept",
            "reject",
            "open",
            "build",
            "capabilities",
            "deviceClock",
            "queryEce",
            "remoteEce",
            "requireSuccess",
            "exception",
            "requireAddress",
            "tryWait",
            "peekSend",
            "peekReceive",
            "available",
            "toBuilder",
            "toInetAddress",
            "bytes",
            "buffer",
            "wait",
            "notify",
            "notifyAll",
            "getClass",
            "stackTrace",
            "fillInStackTrace",
            "values");

    private static final Map<Class<?>, List<Method>> OF = new ConcurrentHashMap<>();

    private Looks() {}

    static List<Method> of(Class<?> type) {
        return OF.computeIfAbsent(
                type,
                key -> Arrays.stream(key.getMethods())
                        .filter(method -> method.getParameterCount() == 0
                                && !Modifier.isStatic(method.getModifiers())
                                && method.getReturnType() != void.class
                                && method.getDeclaringClass().getName().startsWith("io.rdmatest.")
                                && !NO_LOOKS.contains(method.getName()))
                        .sorted(Comparator.comparing(Method::getName))
                        // Public methods of a class that is not public can't be called by reflection otherwise.
                        .peek(method -> method.setAccessible(true))
                        .toList());
    }

    /** Looks at an object in a way that chance takes. */
    static @Nullable Object look(Walker walker, Object object, Method method) throws Exception {
        try {
            return method.invoke(object);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw e;
        }
    }

    @SafeVarargs
    static void random(Walker walker, Object object, Class<? extends Throwable>... allowed) {
        Method method = walker.pick(of(object.getClass()));
        Object ignored = walker.maybe(
                "look(" + object.getClass().getSimpleName() + "." + method.getName() + " of " + object + ")",
                () -> look(walker, object, method),
                allowed);
    }

    @SafeVarargs
    static void all(Walker walker, Object object, Class<? extends Throwable>... allowed) {
        for (Method method : of(object.getClass())) {
            Object ignored = walker.maybe(
                    "look(" + object.getClass().getSimpleName() + "." + method.getName() + " of " + object + ")",
                    () -> look(walker, object, method),
                    allowed);
        }
    }
}
