package io.rdmatest.scenarios.pairs;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/**
 * The order in which all ordered pairs of nodes meet: a round-robin tournament by the circle method, first in one direction, then
 * in the other. In a round every node meets at most one other, and there are as few rounds as possible: {@code 2(n-1)} for an even
 * number of nodes and {@code 2n} for an odd one.
 *
 * <p>From round to round, a node meets nodes that are far apart in the list, because neighbours in the list share a switch. So a
 * few rounds distinguish a node that reaches no other node from one that is cut off from a part of the fabric.
 *
 * @param nodes how many nodes there are, at least 2
 */
public record Tournament(int nodes) {

    /**
     * Checks the number.
     *
     * @throws IllegalArgumentException if there are fewer than 2 nodes
     */
    public Tournament {
        if (nodes < 2) {
            throw new IllegalArgumentException("Pairs need at least 2 nodes, not " + nodes);
        }
    }

    /** Returns how many rounds there are. */
    public int rounds() {
        return 2 * (places() - 1);
    }

    /** Returns how many ordered pairs there are. */
    public long pairs() {
        return (long) nodes * (nodes - 1);
    }

    /** Returns the number of places. With an odd number of nodes there is one extra place, and the node that meets it pauses. */
    private int places() {
        return nodes + nodes % 2;
    }

    /**
     * Returns the pairs of a round, which can all run at once.
     *
     * @param round its number, from 0 to {@link #rounds()} exclusively
     */
    public List<Pair> round(int round) {
        if (round < 0 || round >= rounds()) {
            throw new IndexOutOfBoundsException("Round %d of %d".formatted(round, rounds()));
        }
        int circle = places() - 1;
        int turn = (int) ((long) round * stride(circle) % circle);
        List<Pair> pairs = new ArrayList<>(places() / 2);
        // The last place stays in the middle, the others move around it.
        meet(pairs, circle, turn);
        for (int seat = 1; seat <= circle / 2; seat++) {
            meet(pairs, (turn + seat) % circle, (turn - seat + circle) % circle);
        }
        return round < circle ? pairs : pairs.stream().map(Pair::swapped).toList();
    }

    /** A turn moves partners by two places. With this stride they move by about the golden section of the circle. */
    private static int stride(int circle) {
        int stride = Math.max(1, (int) Math.round(0.309 * circle));
        while (!BigInteger.valueOf(stride).gcd(BigInteger.valueOf(circle)).equals(BigInteger.ONE)) {
            stride++;
        }
        return stride;
    }

    private void meet(List<Pair> pairs, int one, int other) {
        if (one < nodes && other < nodes) {
            pairs.add(new Pair(one, other));
        }
    }
}
