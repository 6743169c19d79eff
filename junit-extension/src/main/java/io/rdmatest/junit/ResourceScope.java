package io.rdmatest.junit;

/** How long an injected resource lives. */
public enum ResourceScope {

    /** From the first time the test, or a lifecycle method before it, asks for it, until the test is over. */
    TEST,

    /** From the first time anything in the class asks for it until the class is over. */
    CLASS
}
