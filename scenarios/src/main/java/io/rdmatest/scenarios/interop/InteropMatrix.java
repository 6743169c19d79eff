package io.rdmatest.scenarios.interop;

import io.rdmatest.junit.RunSeed;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * The interoperability matrix of a run: the cells of all programs, drawn from one seed.
 *
 * <p>The keys work from {@code junit-platform.properties}, as system properties and from the launcher.
 *
 * @param seed what every option is drawn from
 * @param count cells per program and role of ours
 * @param cells all of them, program by program
 */
public record InteropMatrix(long seed, int count, List<Cell> cells) {

    /**
     * The seed that the options of the cells are drawn from: a whole number. Unless set, every run draws another seed
     * and prints it.
     */
    public static final String SEED = "rdma.interop.seed";

    /** How many cells there are for each program and role of ours, 1 to 1000; 1 unless set. */
    public static final String CELLS = "rdma.interop.cells";

    private static final int MOST_CELLS = 1000;

    /** Keeps the list. */
    public InteropMatrix {
        cells = List.copyOf(cells);
    }

    /** Returns where the cells of each program come from. */
    public static List<CellSource> sources() {
        return List.of(new RpingCells(), new UcmatoseCells(), new UdaddyCells(), new MckeyCells(), new RstreamCells());
    }

    /**
     * Draws the cells. Each program has a generator of its own, so its cells do not depend on the other programs.
     *
     * @param seed what every option is drawn from
     * @param count cells per program and role of ours, 1 to 1000
     */
    public static InteropMatrix draw(long seed, int count) {
        if (count < 1 || count > MOST_CELLS) {
            throw new IllegalArgumentException(
                    "%d cells per program and role: allowed are 1 to %d; set %s".formatted(count, MOST_CELLS, CELLS));
        }
        List<Cell> cells = new ArrayList<>();
        for (CellSource source : sources()) {
            cells.addAll(
                    source.cells(new SplittableRandom(seed + source.program().hashCode()), count));
        }
        return new InteropMatrix(seed, count, cells);
    }

    static InteropMatrix read(Function<String, Optional<String>> configuration) {
        return draw(
                number(configuration, SEED, RunSeed.get()),
                Math.clamp(number(configuration, CELLS, 1), 0, Integer.MAX_VALUE));
    }

    private static long number(Function<String, Optional<String>> configuration, String key, long unset) {
        Optional<String> text = configuration.apply(key).map(String::strip).filter(value -> !value.isEmpty());
        try {
            return text.map(Long::parseLong).orElse(unset);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(key + "=" + text.orElse("") + ": not a whole number", e);
        }
    }

    /** Says how to draw the same cells again. */
    String repeat() {
        return "Drawn from seed %d: repeat it with -D%s=%d -D%s=%d".formatted(seed, SEED, seed, CELLS, count);
    }
}
