package io.rdmatest.junit;

import org.opentest4j.TestAbortedException;

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
    NOT_SELECTED("not selected");

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
     * Leave the running test as skipped. Do not call it in {@code @BeforeAll}: the whole class would vanish from the count.
     *
     * @param detail what was looked at and what was found; neither null nor empty
     * @return nothing: the type lets the caller write {@code throw SkipReason.PEER_ABSENT.skip("…")}
     * @throws TestAbortedException always
     */
    public TestAbortedException skip(String detail) {
        throw new TestAbortedException(because(detail));
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
