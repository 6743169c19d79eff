package io.rdmatest.scenarios.bench;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Notices when a program that is compiled while it runs has come to its final speed: the last few rounds are close to each
 * other, and nothing was compiled in them. A host that never comes to rest is not waited for.
 */
public final class WarmUp {

    private static final int WINDOW = 3;
    private static final double TOLERANCE = 0.1;
    private static final int MOST = 200;

    /** The compilers are busy in a round if they take more than this share of its time. */
    private static final double BUSY_COMPILER = 0.02;

    private final int window;
    private final double tolerance;
    private final int most;
    private final Deque<Double> last = new ArrayDeque<>();
    private int rounds;
    private int quietRounds;

    /** Begins to watch until 3 rounds lie within 10 % of each other, or for 200 rounds. */
    WarmUp() {
        this(WINDOW, TOLERANCE, MOST);
    }

    /**
     * Begins to watch.
     *
     * @param window how many rounds have to be close to each other, at least 2
     * @param tolerance how far the least and the greatest of them may be apart, as a share of their median, more than 0
     * @param most after how many rounds the warm-up ends all the same, at least the window
     */
    public WarmUp(int window, double tolerance, int most) {
        if (window < 2 || !(tolerance > 0) || most < window) {
            throw new IllegalArgumentException(
                    "A warm-up has a window of at least 2, a positive tolerance and at least as many"
                            + " rounds as the window, not %d, %s and %d".formatted(window, tolerance, most));
        }
        this.window = window;
        this.tolerance = tolerance;
        this.most = most;
    }

    /**
     * Takes the value of a round.
     *
     * @param value what was measured
     * @param compilers what the compilers took of it
     * @return whether the warm-up is over
     */
    boolean add(double value, CompilerWatch.Taken compilers) {
        return add(value, compilers.share() > BUSY_COMPILER);
    }

    /**
     * Takes the value of a round.
     *
     * @param value what was measured
     * @param compiled whether the compiler was busy in this round
     * @return whether the warm-up is over
     */
    public boolean add(double value, boolean compiled) {
        rounds++;
        quietRounds = compiled ? 0 : quietRounds + 1;
        last.addLast(value);
        if (last.size() > window) {
            last.removeFirst();
        }
        return isSettled() || rounds >= most;
    }

    /** Tells whether the last rounds are close to each other, with nothing compiled in them. */
    public boolean isSettled() {
        if (quietRounds < window) {
            return false;
        }
        Spread spread = Spread.of(last);
        return spread.max() - spread.min() <= tolerance * Math.abs(spread.median());
    }

    /** Returns how many rounds there were. */
    public int rounds() {
        return rounds;
    }
}
