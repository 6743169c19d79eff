package io.rdmatest.report.page;

import org.jspecify.annotations.Nullable;

/**
 * A cause of bad cells, or a bad cell without one, and where the map has it.
 *
 * @param name what it is called
 * @param evidence what speaks for it, as a sentence
 * @param metric the member of a cell that shows it most; empty if that is not known
 * @param rail its rail; empty if it is on all
 * @param from the node or the leaf that sends; empty if any does
 * @param to the node or the leaf that receives; empty if any does
 * @param place {@code nodes}: the row of {@code from} and the column of {@code to}; {@code cell}: where both meet; {@code
 *     leaves}: the block of both leaves
 * @param suspect whether it was not as bad when it was measured again
 */
public record CulpritRow(
        String name,
        String evidence,
        String metric,
        String rail,
        String from,
        String to,
        String place,
        boolean suspect) {

    /** The place of a node or a port. */
    public static final String NODES = "nodes";

    /** The place of a path, and of a bad cell without a cause. */
    public static final String CELL = "cell";

    /** The place of a block. */
    public static final String LEAVES = "leaves";

    /**
     * Returns whether a cell is one of the cause's.
     *
     * @param itsRail the rail of the cell
     * @param sender its node that sends
     * @param receiver its node that receives
     * @param senderLeaf the leaf of that port; null if it is not known
     * @param receiverLeaf the leaf of the receiving port; null if it is not known
     */
    public boolean explains(
            String itsRail,
            String sender,
            String receiver,
            @Nullable String senderLeaf,
            @Nullable String receiverLeaf) {
        return (rail.isEmpty() || rail.equals(itsRail))
                && switch (place) {
                    case NODES -> sender.equals(from) || receiver.equals(to);
                    case CELL -> sender.equals(from) && receiver.equals(to);
                    default -> from.equals(senderLeaf) && to.equals(receiverLeaf);
                };
    }
}
