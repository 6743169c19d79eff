package io.rdmatest.walk;

import io.rdmatest.NativeResource;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.ClosedChannelException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** One thread of the walk: makes calls, and compares what becomes of them with what the model allows. */
final class Walker {

    /** Calls that are sure to succeed, or sure to be refused, are named by what they do; arguments follow. */
    final Walk walk;

    final Random random;
    private final String name;
    private long begun;

    Walker(Walk walk, String name, long seed) {
        this.walk = walk;
        this.name = name;
        this.random = new Random(seed);
    }

    /** Makes a call that must succeed. */
    <T> T ok(String what, Callable<T> call) {
        long number = walk.journal.begin(name, what);
        begun = System.nanoTime();
        try {
            T result = call.call();
            succeeded(number, what, result);
            return result;
        } catch (Divergence e) {
            throw e;
        } catch (Throwable e) {
            walk.journal.end(number, "=> " + e);
            throw walk.diverged(name + ": " + what + " must succeed, but threw " + e, e);
        }
    }

    void done(String what, Action action) {
        boolean ignored = ok(what, () -> {
            action.run();
            return true;
        });
    }

    /** Makes a call that must be refused in one of some ways; none of them may leave anything behind. */
    @SafeVarargs
    final void no(String what, Action action, Class<? extends Throwable>... allowed) {
        long number = walk.journal.begin(name, what);
        begun = System.nanoTime();
        try {
            action.run();
        } catch (Divergence e) {
            throw e;
        } catch (Throwable e) {
            refused(number, what, e, allowed);
            return;
        }
        walk.journal.end(number, "=> done");
        throw walk.diverged(name + ": " + what + " must be refused by " + names(allowed) + ", but succeeded", null);
    }

    /** Makes a call that may succeed or be refused in one of some ways; returns null if it was refused. */
    @SafeVarargs
    final <T> @Nullable T maybe(String what, Callable<T> call, Class<? extends Throwable>... allowed) {
        long number = walk.journal.begin(name, what);
        begun = System.nanoTime();
        T result;
        try {
            result = call.call();
        } catch (Divergence e) {
            throw e;
        } catch (Throwable e) {
            refused(number, what, e, allowed);
            return null;
        }
        succeeded(number, what, result);
        return result;
    }

    @SafeVarargs
    final boolean maybeDone(String what, Action action, Class<? extends Throwable>... allowed) {
        return maybe(
                        what,
                        () -> {
                            action.run();
                            return true;
                        },
                        allowed)
                != null;
    }

    private void succeeded(long number, String what, @Nullable Object result) {
        walk.journal.end(number, "=> " + (result instanceof Boolean ? "done" : result));
        walk.count(kind(what), true, System.nanoTime() - begun);
    }

    private void refused(long number, String what, Throwable thrown, Class<? extends Throwable>[] allowed) {
        walk.journal.end(number, "=> " + thrown);
        if (walk.isOfReset(thrown) || Arrays.stream(allowed).noneMatch(type -> type.isInstance(thrown))) {
            throw walk.diverged(
                    name + ": " + what + " may be refused by " + names(allowed) + " only, but threw " + thrown, thrown);
        }
        String message = thrown.getMessage();
        boolean ofTheJdk = thrown instanceof NullPointerException
                || thrown instanceof ReadOnlyBufferException
                || thrown instanceof ClosedChannelException;
        if (!ofTheJdk && (message == null || message.length() < 10)) {
            throw walk.diverged(name + ": " + what + " was refused without an explanation: " + thrown, thrown);
        }
        walk.count(kind(what), false, System.nanoTime() - begun);
    }

    private static String names(Class<? extends Throwable>[] types) {
        return Arrays.stream(types).map(Class::getSimpleName).toList().toString();
    }

    private static String kind(String what) {
        for (int i = 0; i < what.length(); i++) {
            if (what.charAt(i) == '(' || what.charAt(i) == ' ') {
                return what.substring(0, i);
            }
        }
        return what;
    }

    void require(boolean holds, String what) {
        if (!holds) {
            throw walk.diverged(name + ": " + what, null);
        }
    }

    void requireEqual(@Nullable Object actual, @Nullable Object expected, String what) {
        if (!java.util.Objects.equals(actual, expected)) {
            throw walk.diverged(name + ": " + what + " is " + actual + ", the model says " + expected, null);
        }
    }

    <T extends NativeResource> T made(String what, Callable<T> call) {
        return walk.made(ok(what, call));
    }

    /** Closes an object that nothing is built on. */
    void close(NativeResource resource) {
        done("close(" + resource + ")", resource::close);
        walk.gone(resource);
        require(resource.isClosed(), resource + " is not closed after close()");
    }

    // ---- chance ----

    int below(int bound) {
        return random.nextInt(bound);
    }

    boolean chance(int oneIn) {
        return random.nextInt(oneIn) == 0;
    }

    <T> T pick(List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    @SafeVarargs
    final <T> T one(T... values) {
        return values[random.nextInt(values.length)];
    }

    /** Something to do. */
    interface Action {
        void run() throws Exception;
    }
}
