package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Proves that the measurement sees the smallest leak that there is, and sees none where there is none. */
@Isolated("it measures the memory of the whole JVM")
class MemoryGrowthTests {

    private static final MethodHandle MALLOC = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("malloc"),
                    FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));
    private static final MethodHandle FREE = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("free"),
                    FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));

    private final List<Object> kept = new ArrayList<>(100_000);

    private static MemorySegment malloc() {
        try {
            return (MemorySegment) MALLOC.invokeExact(1L);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static void free(MemorySegment block) {
        try {
            FREE.invokeExact(block);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MemoryGrowth measure(Consumer<Integer> repetition) {
        assumeThat(MemoryGrowth.isMeasurable()).as("mallinfo2 is there").isTrue();
        MemoryGrowth growth = new MemoryGrowth();
        for (int i = 0; i <= 10_000; i++) {
            repetition.accept(i);
            if (i >= 2_000 && i % 1_000 == 0) {
                growth.sample(i);
            }
        }
        return growth;
    }

    @Test
    void seesNoGrowthWhereEverythingIsFreed() {
        MemoryGrowth growth = measure(i -> free(malloc()));
        assertThat(growth.nativeSlope()).as("%s", growth).isLessThan(MemoryGrowth.NATIVE_LIMIT);
        assertThat(growth.heapSlope()).as("%s", growth).isLessThan(MemoryGrowth.HEAP_LIMIT);
    }

    @Test
    void seesOneSmallestBlockPerRepetition() {
        List<MemorySegment> leaked = new ArrayList<>(10_001);
        MemoryGrowth growth = measure(i -> leaked.add(malloc()));
        leaked.forEach(MemoryGrowthTests::free);
        assertThat(growth.nativeSlope()).as("%s", growth).isGreaterThan(MemoryGrowth.NATIVE_LIMIT);
    }

    /** What a JVM allocates once, late, is no leak. */
    @Test
    void judgesByTheLatestSamples() {
        MemoryGrowth growth = new MemoryGrowth();
        List<MemorySegment> once = new ArrayList<>();
        for (int i = 1; i <= 2 * MemoryGrowth.MOST_SAMPLES; i++) {
            for (int block = 0; i <= MemoryGrowth.MOST_SAMPLES && block < 1_000; block++) {
                once.add(malloc());
            }
            growth.sample(i * 1_000L);
            if (i == MemoryGrowth.MOST_SAMPLES) {
                assertThat(growth.isAboveLimits()).as("%s", growth).isTrue();
            }
        }
        once.forEach(MemoryGrowthTests::free);
        assertThat(growth.isAboveLimits()).as("%s", growth).isFalse();
    }

    @Test
    void seesOneSmallestObjectPerRepetition() {
        MemoryGrowth growth = measure(i -> kept.add(new Object()));
        assertThat(growth.heapSlope()).as("%s", growth).isGreaterThan(MemoryGrowth.HEAP_LIMIT);
        assertThat(kept).hasSize(10_001);
    }
}
