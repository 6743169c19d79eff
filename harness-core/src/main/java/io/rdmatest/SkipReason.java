package io.rdmatest;

import java.util.Arrays;

/**
 * Why a test did not run. A skip always names one of these classes, and what was looked at. A misconfigured host is none
 * of them: that is a failure.
 */
public enum SkipReason {

    /** The device lacks what the test needs, for example atomics. */
    UNSUPPORTED_BY_DEVICE("unsupported by the device"),

    /** The kernel or its modules lack it. */
    UNSUPPORTED_BY_KERNEL("unsupported by the kernel"),

    /** This process may not do it, for example for want of a capability. */
    NOT_PERMITTED("not permitted"),

    /** The other side is not there. */
    PEER_ABSENT("peer absent"),

    /** The run's own selection leaves the test out. */
    NOT_SELECTED("not selected"),

    /** The device is known to do this differently; a deviations file says so, see {@code rdma.deviations}. */
    KNOWN_DEVIATION("known deviation");

    static final String NONE = "without a class of reason";

    private final String text;

    SkipReason(String text) {
        this.text = text;
    }

    /**
     * Phrase the reason of a skip.
     *
     * @param detail what was looked at and what was found, for example {@code "rxe0 has no atomics"}; neither null nor empty
     * @return the class of reason, a colon and the detail; never empty
     */
    public String because(String detail) {
        return text + ": " + detail;
    }

    /**
     * Returns the class of reason with which a message begins.
     *
     * @param message of a skipped test, as JUnit reports it
     * @return the class, or a text that says that the message names none
     */
    public static String classOf(String message) {
        return Arrays.stream(values())
                .map(SkipReason::toString)
                .filter(reason -> stripped(message).startsWith(reason + ": "))
                .findFirst()
                .orElse(NONE);
    }

    /**
     * Returns what a message says after the class of reason.
     *
     * @param message of a skipped test, as JUnit reports it
     * @return the rest of the message; all of it if it names no class
     */
    public static String detailOf(String message) {
        String reason = classOf(message);
        String text = stripped(message);
        return reason.equals(NONE) ? text : text.substring(reason.length() + 2);
    }

    /** JUnit puts words of its own before the message of an assumption, and before the reason of an annotation. */
    private static String stripped(String message) {
        int arrow = message.lastIndexOf(" ==> ");
        String text = arrow < 0 ? message : message.substring(arrow + " ==> ".length());
        return text.startsWith("Assumption failed: ") ? text.substring("Assumption failed: ".length()) : text;
    }

    /**
     * Say the class of reason as it begins every message.
     *
     * @return for example {@code "unsupported by the device"}
     */
    @Override
    public String toString() {
        return text;
    }
}
