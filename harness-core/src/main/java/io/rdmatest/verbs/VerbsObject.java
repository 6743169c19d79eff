package io.rdmatest.verbs;

import io.rdmatest.NativeResource;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A native object of libibverbs: the pointer, and the context that it belongs to. */
abstract class VerbsObject extends NativeResource {

    /** Completion queues, queue pairs and shared receive queues by their address, which asynchronous events contain. */
    private static final ConcurrentMap<Long, VerbsObject> BY_ADDRESS = new ConcurrentHashMap<>();

    final MemorySegment handle;
    final long address;
    private final String deviceName;

    VerbsObject(String kind, MemorySegment handle, String deviceName, @Nullable NativeResource... parents) {
        this.handle = handle;
        this.address = handle.address();
        this.deviceName = deviceName;
        super(kind, parents);
    }

    /** Keeps the native object alive until {@link #end()}; throws if it is closed. */
    final void begin() {
        enter();
    }

    final void end() {
        exit();
    }

    /**
     * Does the same as {@link #begin()} for a call on the data path. Returns whether the calling thread is the user of the
     * object.
     */
    final boolean beginOften() {
        return enterOften();
    }

    final void endOften() {
        exitOften();
    }

    /** Keeps several objects alive during an action; throws if one of them is closed. */
    static <T> T holding(List<? extends VerbsObject> objects, int from, Supplier<T> action) {
        if (from == objects.size()) {
            return action.get();
        }
        objects.get(from).begin();
        try {
            return holding(objects, from + 1, action);
        } finally {
            objects.get(from).end();
        }
    }

    final void reportEventsAs() {
        BY_ADDRESS.put(address, this);
    }

    /** Call it before the object is destroyed: its address may be reused at once. */
    final void reportEventsNoMore() {
        BY_ADDRESS.remove(address, this);
    }

    static @Nullable VerbsObject byAddress(long address) {
        return BY_ADDRESS.get(address);
    }

    /** Returns the name of the device, for example {@code rxe0}. */
    public final String deviceName() {
        return deviceName;
    }
}
