package io.rdmatest;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Lists the native objects of this JVM that are not yet closed, and knows on whose behalf each was made.
 *
 * <p>Whoever runs several things in one JVM, such as tests in parallel, gives each an {@link Owner} and makes it the
 * thread's by {@link #actFor(Owner)}. Objects remember the owner of the thread that makes them. Threads inherit the owner
 * of the thread that starts them. A thread that outlives its owner, as those of a pool do that several tests share, acts
 * for the nearest enclosing owner that has not ended. A thread that has no owner, such as those of the common pool, makes
 * its objects for the owner of what they are built on.
 */
public final class Ledger {

    /** The one on whose behalf objects are made: a run, a class, a test. */
    public static final class Owner {
        private final String name;
        private final @Nullable Owner enclosing;
        private final boolean custodian;
        private volatile boolean ended;

        private Owner(String name, @Nullable Owner enclosing, boolean custodian) {
            this.name = name;
            this.enclosing = enclosing;
            this.custodian = custodian;
        }

        /**
         * Makes an owner.
         *
         * @param name its name for messages
         * @param enclosing takes over when this owner has ended; null for nobody
         */
        public static Owner of(String name, @Nullable Owner enclosing) {
            return new Owner(name, enclosing, false);
        }

        /**
         * Makes an owner that keeps objects for this one: the ledger keeps them apart from those that this one made itself. What
         * threads without an owner build on the custodian's objects belongs to this owner, not to the custodian.
         */
        public Owner custodian() {
            return new Owner(name, this, true);
        }

        /** Returns its name. */
        public String name() {
            return name;
        }

        /** Ends the owner: threads that still act for it act for the enclosing one from now on. */
        public void end() {
            ended = true;
        }

        private static @Nullable Owner lasting(@Nullable Owner owner) {
            Owner current = owner;
            while (current != null && current.ended) {
                current = current.enclosing;
            }
            return current;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** Ends a thread's acting for an owner. */
    @FunctionalInterface
    public interface Acting extends AutoCloseable {
        /** Makes the owner before it the thread's owner again; to be called on the same thread. */
        @Override
        void close();
    }

    /** Ends that the objects a thread makes share the stack of their creation. */
    @FunctionalInterface
    public interface StackSharing extends AutoCloseable {
        /** Lets the thread's objects have stacks as before; to be called on the same thread. */
        @Override
        void close();
    }

    private static final InheritableThreadLocal<@Nullable Owner> CURRENT = new InheritableThreadLocal<>();
    private static final ThreadLocal<@Nullable Throwable> STACK = new ThreadLocal<>();

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
     * Returns the live objects of an owner, in the order of their creation; may be empty.
     *
     * @param owner the one that they were made for
     */
    public static List<NativeResource> live(Owner owner) {
        synchronized (LOCK) {
            return LIVE.stream().filter(resource -> resource.owner() == owner).toList();
        }
    }

    /**
     * Makes the calling thread, and the threads that it starts from now on, act for an owner.
     *
     * @param owner the one that objects are made for
     * @return to be closed on the same thread, which then acts for the owner before
     */
    public static Acting actFor(Owner owner) {
        return replace(CURRENT, owner)::run;
    }

    /**
     * Lets all objects that the calling thread makes from now on have one stack of creation, that of this call. For who makes
     * them by the thousand at one place: a stack for each costs as much as several calls into the library, and says the same.
     *
     * @return to be closed on the same thread, which then has stacks as before
     */
    public static StackSharing shareStack() {
        return replace(STACK, new Throwable())::run;
    }

    /** Gives the thread another value; returns what gives it the one before. */
    private static <T> Runnable replace(ThreadLocal<@Nullable T> local, T value) {
        T before = local.get();
        local.set(value);
        return () -> {
            if (before == null) {
                local.remove();
            } else {
                local.set(before);
            }
        };
    }

    /** Returns the stack of an object that the calling thread is making. */
    static Throwable stackOfNew() {
        Throwable shared = STACK.get();
        return shared == null ? new Throwable() : shared;
    }

    /** Finds the owner of an object that the calling thread is making on others. */
    static @Nullable Owner ownerOfNew(List<NativeResource> parents) {
        Owner owner = Owner.lasting(CURRENT.get());
        for (int i = parents.size() - 1; owner == null && i >= 0; i--) {
            Owner above = Owner.lasting(parents.get(i).owner());
            owner = above != null && above.custodian ? Owner.lasting(above.enclosing) : above;
        }
        return owner;
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
