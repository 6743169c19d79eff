package io.rdmatest.junit;

/** An option has a value out of its range. A message can name the place of the option by {@link #option()} and {@link #problem()}. */
public final class OutOfRange extends IllegalArgumentException {

    private static final long serialVersionUID = 1;

    private final String option;
    private final String problem;

    /**
     * Describe the value.
     *
     * @param option the name of the option; not empty
     * @param problem the value and its range, as the predicate of a sentence about the option
     */
    public OutOfRange(String option, String problem) {
        super(option + " " + problem);
        this.option = option;
        this.problem = problem;
    }

    /**
     * Check a value against a range.
     *
     * @param option the name of the option; not empty
     * @param value the value
     * @param least the least value
     * @param most the greatest value; {@link Integer#MAX_VALUE} for no limit
     * @return the value
     * @throws OutOfRange if the value is out of the range
     */
    public static int check(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new OutOfRange(option, "is " + value + ", and must be " + range(least, most));
        }
        return value;
    }

    /**
     * Check a value against a limit of a device.
     *
     * @param option the name of the option; not empty
     * @param value the value
     * @param limit the greatest value; 0 for unknown
     * @param attribute the name of the limit and the device, for the message
     * @throws OutOfRange if the value is beyond the limit
     */
    public static void checkLimit(String option, int value, int limit, String attribute) {
        // A device that knows no limit says 0.
        if (limit > 0 && value > limit) {
            throw new OutOfRange(option, "is " + value + ", and must be at most " + limit + ", the " + attribute);
        }
    }

    private static String range(int least, int most) {
        return most == Integer.MAX_VALUE ? "at least " + least : least + " to " + most;
    }

    /**
     * Get the name of the option.
     *
     * @return the name; not empty
     */
    public String option() {
        return option;
    }

    /**
     * Get the problem.
     *
     * @return the value and its range, for a sentence that begins with the option
     */
    public String problem() {
        return problem;
    }
}
