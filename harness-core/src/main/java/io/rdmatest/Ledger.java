package io.rdmatest;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Lists the live native objects of this JVM, each with its owner.
 *
 * <p>A runner of parallel tests gives each test an {@link Owner} and sets it for the thread by {@link #actFor(Owner)}.
 * An object belongs to the owner of the thread that creates it. A thread inherits the owner of the thread that starts
 * it. A thread that outlives its owner, for example in a shared pool, acts for the nearest enclosing owner that has not
 * ended. If a thread has no owner, as in the common pool, its objects belong to the owner of their parents.
 */
public final class Ledger {

    /** The run, class or test that native objects belong to. */
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
         * @param enclosing the owner that takes over when this one has ended; null for none
         */
        public static Owner of(String name, @Nullable Owner enclosing) {
            return new Owner(name, enclosing, false);
        }

        /**
         * Makes an owner for objects that are held on behalf of this owner. The ledger lists them apart from this owner's own
         * objects. If a thread without an owner builds on a custodian's object, the new object belongs to this owner.
         */
        public Owner custodian() {
            return new Owner(name, this, true);
        }

        /** Returns its name. */
        public String name() {
            return name;
        }

        /** Ends the owner: its threads act for the enclosing owner from now on. */
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

    /** Restores the thread's previous owner when it is closed. */
    @FunctionalInterface
    public interface Acting extends AutoCloseable {
        /** Restores the thread's previous owner. Call it on the same thread. */
        @Override
        void close();
    }

    /** Ends the sharing of creation stacks when it is closed. */
    @FunctionalInterface
    public interface StackSharing extends AutoCloseable {
        /** Restores what was in force before. Call it on the same thread. */
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
     * @param owner the owner of the objects
     */
    public static List<NativeResource> live(Owner owner) {
        synchronized (LOCK) {
            return LIVE.stream().filter(resource -> resource.owner() == owner).toList();
        }
    }

    /**
     * Makes the calling thread, and the threads that it starts from now on, act for an owner.
     *
     * @param owner the owner of objects that the thread creates
     * @return the handle that restores the previous owner; close it on the same thread
     */
    public static Acting actFor(Owner owner) {
        return replace(CURRENT, owner)::run;
    }

    /**
     * Gives all objects that the calling thread creates from now on one shared creation stack: the stack of this call. Use it
     * where one place creates thousands of objects. A separate stack for each object would cost as much as several native calls.
     *
     * @return the handle that ends the sharing; close it on the same thread
     */
    public static StackSharing shareStack() {
        return replace(STACK, new Throwable())::run;
    }

    /** Sets the thread's value; returns an action that restores the previous one. */
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

    /** Returns the creation stack for a new object of the calling thread. */
    static Throwable stackOfNew() {
        Throwable shared = STACK.get();
        return shared == null ? new Throwable() : shared;
    }

    /** Finds the owner of a new object of the calling thread. */
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
