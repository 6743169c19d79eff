package io.rdmatest.report.page;

import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairMatrix;
import java.util.List;

/**
 * What the page tells of pairs of nodes.
 *
 * @param pairs all cells
 * @param rails the cells of each rail
 * @param culprits the causes of bad cells
 * @param unexplained bad cells that no cause explains
 * @param notes what limits this, as sentences
 * @param lines all of this as lines of text, for a console
 */
record PairsPart(
        PairMatrix pairs,
        List<RailMatrix> rails,
        List<Culprit> culprits,
        List<PairLine> unexplained,
        List<String> notes,
        List<String> lines) {

    PairsPart {
        rails = List.copyOf(rails);
        culprits = List.copyOf(culprits);
        unexplained = List.copyOf(unexplained);
        notes = List.copyOf(notes);
        lines = List.copyOf(lines);
    }

    /** Returns how many cells were measured or failed. */
    int cells() {
        return rails.stream()
                .mapToInt(rail -> rail.count(RailMatrix.MEASURED) + rail.count(RailMatrix.FAILED))
                .sum();
    }
}
