package io.rdmatest.scenarios.rstream;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One test of rstream(1): {@code iterations} times, {@code transfers} transfers of {@code size} bytes to the server and
 * as many back.
 *
 * @param name the name in the first column of rstream, such as {@code 64k_bw}
 * @param size the size of a transfer in bytes
 * @param transfers transfers in each direction per iteration
 * @param iterations how often the exchange is repeated
 * @param kind the kind of measurement
 */
public record StreamRow(String name, int size, int transfers, int iterations, Kind kind) {

    /** The kinds of measurement, which decide the tuning of the socket. */
    public enum Kind {
        /** One transfer per direction and iteration, small data inline. */
        LATENCY,
        /** One iteration of many transfers, no inline data. */
        BANDWIDTH,
        /** A custom row without tuning of the socket (rstream -I, -C, -S). */
        CUSTOM
    }

    /** The sizes of rstream's standard run, in bytes. */
    public static final List<Integer> STANDARD_SIZES = List.of(64, 4096, 65536, 1048576);

    /** The sizes of {@code rstream -S all}, in bytes: 64, and from 128 to 4 MiB each power of two and 1.5 times it. */
    public static final List<Integer> ALL_SIZES = allSizes();

    /** Checks that the row transfers something. */
    public StreamRow {
        if (size <= 0 || transfers <= 0 || iterations <= 0) {
            throw new IllegalArgumentException("Size, transfers and iterations must be positive, not %d, %d and %d"
                    .formatted(size, transfers, iterations));
        }
    }

    private static List<Integer> allSizes() {
        List<Integer> sizes = new ArrayList<>();
        sizes.add(64);
        for (int exponent = 7; exponent <= 22; exponent++) {
            sizes.add(1 << exponent);
            sizes.add((1 << exponent) + (1 << (exponent - 1)));
        }
        return List.copyOf(sizes);
    }

    /**
     * Returns how often rstream repeats a transfer of a size.
     *
     * @param size the size of a transfer in bytes
     * @return the repetitions: 100 000 below 1 KiB, down to 100 from 1 MiB
     */
    public static int repetitions(int size) {
        if (size >= 1 << 20) {
            return 100;
        }
        if (size >= 1 << 16) {
            return 1000;
        }
        return size >= 1 << 10 ? 10_000 : 100_000;
    }

    /**
     * Returns the latency row of a size.
     *
     * @param size the size of a transfer in bytes
     * @param scale the share of rstream's own repetitions, 1.0 for all of them; at least 2 remain
     */
    public static StreamRow latency(int size, double scale) {
        return new StreamRow(label(size) + "_lat", size, 1, scaled(size, scale), Kind.LATENCY);
    }

    /**
     * Returns the bandwidth row of a size.
     *
     * @param size the size of a transfer in bytes
     * @param scale the share of rstream's own repetitions, 1.0 for all of them; at least 2 remain
     */
    public static StreamRow bandwidth(int size, double scale) {
        return new StreamRow(label(size) + "_bw", size, scaled(size, scale), 1, Kind.BANDWIDTH);
    }

    /** Returns a custom row, named {@code custom} as in rstream. */
    public static StreamRow custom(int size, int transfers, int iterations) {
        return new StreamRow("custom", size, transfers, iterations, Kind.CUSTOM);
    }

    private static int scaled(int size, double scale) {
        if (!(scale > 0)) {
            throw new IllegalArgumentException("The scale of the repetitions must be positive, not " + scale);
        }
        return (int) Math.max(2, Math.round(repetitions(size) * scale));
    }

    /** Returns the bytes of this row in both directions together, without the two sync messages. */
    public long totalBytes() {
        return 2L * size * transfers * iterations;
    }

    /**
     * Returns the throughput of both directions together, as rstream computes it.
     *
     * @param nanos the duration of the timed loop in nanoseconds
     * @return gigabits (10^9 bits) per second
     */
    public double gigabitsPerSecond(long nanos) {
        return 8.0 * totalBytes() / nanos;
    }

    /**
     * Returns the mean time of one transfer, as rstream computes it.
     *
     * @param nanos the duration of the timed loop in nanoseconds
     * @return microseconds per transfer
     */
    public double microsPerTransfer(long nanos) {
        return nanos / 1000.0 / iterations / (2.0 * transfers);
    }

    /**
     * Returns the heading of the columns, as rstream prints it.
     */
    public static String heading() {
        return "%-10s%-8s%-8s%-8s%-8s%8s %10s%13s"
                .formatted("name", "bytes", "xfers", "iters", "total", "time", "Gb/sec", "usec/xfer");
    }

    /**
     * Returns the row and its measurements, in the columns of rstream.
     *
     * @param nanos the duration of the timed loop in nanoseconds
     */
    public String line(long nanos) {
        return String.format(
                Locale.ROOT,
                "%-10s%-8s%-8s%-8s%-8s%8.2fs%10.2f%11.2f",
                name,
                label(size),
                countLabel(transfers),
                countLabel(iterations),
                label(totalBytes()),
                nanos / 1e9,
                gigabitsPerSecond(nanos),
                microsPerTransfer(nanos));
    }

    /**
     * Returns a size the way rstream prints it: 64, 4k, 1.5m; powers of 1024, with one digit of the fraction below 10,
     * rounded down.
     */
    static String label(long size) {
        int shift = size >= 1 << 30 ? 30 : size >= 1 << 20 ? 20 : size >= 1 << 10 ? 10 : 0;
        String unit = shift == 30 ? "g" : shift == 20 ? "m" : shift == 10 ? "k" : "";
        long whole = size >> shift;
        long fraction = whole < 10 ? ((size - (whole << shift)) * 10) >> shift : 0;
        return whole + (fraction == 0 ? "" : "." + fraction) + unit;
    }

    /** Returns a count the way rstream prints it: 100, 10k, 1m, 2b; powers of 1000, rounded down. */
    static String countLabel(int count) {
        if (count >= 1_000_000_000) {
            return count / 1_000_000_000 + "b";
        }
        if (count >= 1_000_000) {
            return count / 1_000_000 + "m";
        }
        return count >= 1000 ? count / 1000 + "k" : Integer.toString(count);
    }
}
