package io.rdmatest.junit.engine;

/** A value that an option does not take; apart from the option's name, so that a message can say where it was written. */
public final class OutOfRange extends IllegalArgumentException {

    private static final long serialVersionUID = 1;

    private final String option;
    private final String problem;

    public OutOfRange(String option, String problem) {
        super(option + " " + problem);
        this.option = option;
        this.problem = problem;
    }

    public static int check(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new OutOfRange(option, "is " + value + ", and must be " + range(least, most));
        }
        return value;
    }

    /** Checks a value against what a device says of itself. */
    public static void checkLimit(String option, int value, int limit, String attribute) {
        // A device that knows no limit says 0.
        if (limit > 0 && value > limit) {
            throw new OutOfRange(option, "is " + value + ", and must be at most " + limit + ", the " + attribute);
        }
    }

    private static String range(int least, int most) {
        return most == Integer.MAX_VALUE ? "at least " + least : least + " to " + most;
    }

    String option() {
        return option;
    }

    String problem() {
        return problem;
    }
}
