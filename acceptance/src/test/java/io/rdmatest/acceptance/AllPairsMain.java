package io.rdmatest.acceptance;

import java.util.Objects;

/** Measures all pairs of a fabric from the machine that is node a, and prints what explains them. */
final class AllPairsMain {

    private AllPairsMain() {}

    /**
     * Measures.
     *
     * @param arguments the name of the fabric
     */
    public static void main(String[] arguments) {
        AllPairs pairs = AllPairs.measure(arguments[0]);
        System.out.println("bad: " + pairs.failure);
        Objects.requireNonNull(pairs.culprits).lines().forEach(line -> System.out.println("culprits: " + line));
    }
}
