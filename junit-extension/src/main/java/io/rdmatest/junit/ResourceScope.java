package io.rdmatest.junit;

/** How long an injected resource lives. */
public enum ResourceScope {

    /**
     * From the first time the test method, or a lifecycle method before it, asks for it, until the test is over; of a
     * {@code @TestFactory} until its last dynamic test is over, of a parameterised or repeated test until that invocation is
     * over.
     */
    METHOD,

    /** From the first time anything in the class asks for it until the class is over. */
    CLASS,

    /** From the first time any class asks for it until the run is over. */
    RUN
}
