package io.rdmatest.scenarios.interop;

import java.util.List;
import java.util.SplittableRandom;

/** Draws the cells of one C program. */
public interface CellSource {

    /** Returns the C program, for example {@code rping}. */
    String program();

    /**
     * Draws cells. The same state of the generator makes the same cells. All variations are drawn here, not while a cell runs.
     *
     * @param random where every choice comes from
     * @param count how many cells for each role of ours, at least 1
     */
    List<Cell> cells(SplittableRandom random, int count);
}
