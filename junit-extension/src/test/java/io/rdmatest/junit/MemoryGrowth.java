package io.rdmatest.junit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Tells whether memory grows with the number of repetitions of something.
 *
 * <p>The resident size of a JVM moves by megabytes for reasons of its own, so that it would hide a leak of one struct per
 * repetition. This looks at what is in use instead: the heap after a collection, and the C library's count of allocated
 * bytes (mallinfo2(3)) less what the JVM allocated for itself (its native memory tracking, without the category of arenas
 * and direct buffers). So librdmacm, libibverbs, the providers and our own arenas are left, and the compiler's memory, which
 * comes and goes by hundreds of kilobytes, is not. Of a series of measurements it takes the median of the slopes between
 * all pairs (Theil and Sen): a leak raises every pair, what comes once only those that it lies between.
 */
final class MemoryGrowth {

    /**
     * Bytes per repetition that pass for noise: half of the smallest block that malloc hands out (32 bytes on 64-bit
     * machines), and half of the smallest Java object (16 bytes).
     */
    static final double NATIVE_LIMIT = 16;

    static final double HEAP_LIMIT = 8;

    /** How many measurements count: the latest. */
    static final int MOST_SAMPLES = 9;

    private static final StructLayout MALLINFO2 = MemoryLayout.structLayout(Stream.of(
                    "arena",
                    "ordblks",
                    "smblks",
                    "hblks",
                    "hblkhd",
                    "usmblks",
                    "fsmblks",
                    "uordblks",
                    "fordblks",
                    "keepcost")
            .map(ValueLayout.JAVA_LONG::withName)
            .toArray(MemoryLayout[]::new));

    /** One measurement. */
    record Sample(long repetitions, long nativeBytes, long heapBytes) {}

    private final List<Sample> samples = new ArrayList<>();

    /** Measures, after so many repetitions. */
    void sample(long repetitions) {
        // The second collection takes what the first one's reference handling let go.
        System.gc();
        System.gc();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        samples.add(new Sample(repetitions, allocated(), heap));
        if (samples.size() > MOST_SAMPLES) {
            samples.removeFirst();
        }
    }

    /** Returns whether either kind of memory grows by as much as its limit. */
    boolean isAboveLimits() {
        return nativeSlope() >= NATIVE_LIMIT || heapSlope() >= HEAP_LIMIT;
    }

    double nativeSlope() {
        return slope(Sample::nativeBytes);
    }

    double heapSlope() {
        return slope(Sample::heapBytes);
    }

    private double slope(ToLongFunction<Sample> bytes) {
        double[] slopes = IntStream.range(0, samples.size())
                .boxed()
                .flatMapToDouble(i -> samples.subList(i + 1, samples.size()).stream()
                        .mapToDouble(later -> (double) (bytes.applyAsLong(later) - bytes.applyAsLong(samples.get(i)))
                                / (later.repetitions() - samples.get(i).repetitions())))
                .sorted()
                .toArray();
        if (slopes.length == 0) {
            throw new IllegalStateException("growth needs two samples at least");
        }
        int middle = slopes.length / 2;
        return slopes.length % 2 == 1 ? slopes[middle] : (slopes[middle - 1] + slopes[middle]) / 2;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT,
                "native memory grows by %.1f bytes per repetition, heap by %.1f",
                nativeSlope(),
                heapSlope()));
        for (Sample sample : samples) {
            text.append(String.format(
                    Locale.ROOT,
                    "%n  after %d: native %d bytes, heap %d bytes",
                    sample.repetitions(),
                    sample.nativeBytes(),
                    sample.heapBytes()));
        }
        return text.toString();
    }

    /** Returns the bytes that malloc has handed out and not got back, without those that the JVM needs for itself. */
    private static long allocated() {
        try (Arena arena = Arena.ofConfined()) {
            Tracked jvm = Tracked.now();
            MemorySegment info = (MemorySegment) Malloc.INFO.invokeExact((SegmentAllocator) arena);
            return field(info, "uordblks") + field(info, "hblkhd") - jvm.bytes() - jvm.blocks() * Tracked.OVERHEAD;
        } catch (Throwable e) {
            throw new IllegalStateException("The memory in use can't be told", e);
        }
    }

    /** What the JVM allocated with malloc for itself, as its native memory tracking says. */
    private record Tracked(long bytes, long blocks) {

        /** Of a block: the tracking's header and footer (18 bytes), malloc's header (8), and what rounding adds on average. */
        private static final long OVERHEAD = 18 + 8 + 8;

        private static final Pattern TOTAL = Pattern.compile("malloc: (\\d+) #(\\d+)");
        private static final Pattern ARENAS = Pattern.compile("malloc=(\\d+) tag=Other #(\\d+)");

        static Tracked now() {
            String summary = summary();
            Matcher total = TOTAL.matcher(summary);
            if (!total.find()) {
                throw new IllegalStateException("Run with -XX:NativeMemoryTracking=summary; the JVM says: " + summary);
            }
            Matcher arenas = ARENAS.matcher(summary);
            boolean any = arenas.find();
            return new Tracked(
                    Long.parseLong(total.group(1)) - (any ? Long.parseLong(arenas.group(1)) : 0),
                    Long.parseLong(total.group(2)) - (any ? Long.parseLong(arenas.group(2)) : 0));
        }

        private static String summary() {
            try {
                return (String) ManagementFactory.getPlatformMBeanServer()
                        .invoke(
                                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                                "vmNativeMemory",
                                new Object[] {new String[] {"summary", "scale=B"}},
                                new String[] {String[].class.getName()});
            } catch (JMException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static long field(MemorySegment info, String name) {
        return info.get(ValueLayout.JAVA_LONG, MALLINFO2.byteOffset(MemoryLayout.PathElement.groupElement(name)));
    }

    /** Apart, so that the class loads where the C library lacks the call: glibc has it since 2.33. */
    private static final class Malloc {
        static final MethodHandle INFO = Linker.nativeLinker()
                .downcallHandle(
                        Linker.nativeLinker().defaultLookup().findOrThrow("mallinfo2"),
                        FunctionDescriptor.of(MALLINFO2));
    }

    static boolean isMeasurable() {
        return Linker.nativeLinker().defaultLookup().find("mallinfo2").isPresent();
    }

    /** Returns what this process has open of the RDMA stack: descriptors, and mappings of queues and doorbells. */
    static List<String> rdmaHandles() {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"));
                Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            Stream<String> open = descriptors.map(MemoryGrowth::target);
            Stream<String> mapped = mappings.map(line -> line.split("\\s+", 6)).map(parts -> parts[parts.length - 1]);
            return Stream.concat(open.map(name -> "fd " + name), mapped.map(name -> "mapping " + name))
                    .filter(name -> name.contains("infiniband"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            // The descriptor of the listing itself is gone by now.
            return "";
        }
    }

    /** Returns how many descriptors are open. */
    static long descriptors() {
        String[] names = Path.of("/proc/self/fd").toFile().list();
        return names == null ? 0 : Arrays.stream(names).count();
    }
}
