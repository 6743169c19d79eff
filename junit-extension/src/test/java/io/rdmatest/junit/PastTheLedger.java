package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ffi.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

/** A context with a protection domain, made past the harness: what the ledger can't know of. */
public final class PastTheLedger implements AutoCloseable {

    public static final String READY = "a thread that has ended left its objects";

    private final MemorySegment context;
    private final MemorySegment domain;

    public PastTheLedger(String device) {
        context = open(device);
        domain = rdma_h.ibv_alloc_pd(context);
        assertThat(domain.address()).isNotZero();
    }

    private static MemorySegment open(String device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment list = rdma_h.ibv_get_device_list(count);
            int length = count.get(ValueLayout.JAVA_INT, 0);
            MemorySegment devices = list.reinterpret(ValueLayout.ADDRESS.byteSize() * length);
            MemorySegment context = IntStream.range(0, length)
                    .mapToObj(index -> devices.getAtIndex(ValueLayout.ADDRESS, index))
                    .filter(entry ->
                            rdma_h.ibv_get_device_name(entry).getString(0).equals(device))
                    .map(rdma_h::ibv_open_device)
                    .findFirst()
                    .orElseThrow();
            rdma_h.ibv_free_device_list(list);
            return context;
        }
    }

    @Override
    public void close() {
        assertThat(rdma_h.ibv_dealloc_pd(domain)).isZero();
        assertThat(rdma_h.ibv_close_device(context)).isZero();
    }

    /** Leaves the objects on a device to a thread that ends, and then does nothing until it is killed. */
    public static void main(String[] device) throws InterruptedException {
        Thread thread = new Thread(() -> {
            PastTheLedger ignored = new PastTheLedger(device[0]);
        });
        thread.start();
        thread.join();
        System.out.println(READY);
        new CountDownLatch(1).await();
    }
}
