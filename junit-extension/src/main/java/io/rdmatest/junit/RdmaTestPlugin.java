package io.rdmatest.junit;

import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Injects parameters of further types into RDMA tests, and acts before and after them, without an annotation on each test.
 *
 * <p>Implementations are found by {@link java.util.ServiceLoader}, once in a JVM, and are used by several threads. Each method
 * is called for every test and class that {@link RdmaExtension} serves, after the extension has found the device; an
 * implementation itself leaves those alone that it is not for.
 */
public interface RdmaTestPlugin {

    /**
     * Tell which parameters it injects.
     *
     * @param type the type of a parameter; never null
     * @return whether {@link #resolve} has a value for it
     */
    boolean supports(Class<?> type);

    /**
     * Provide the value of a parameter.
     *
     * @param type a type that {@link #supports} accepts; never null
     * @param context of the test, or of the class for its constructor and {@code @BeforeAll} methods; never null
     * @return the value; never null
     */
    Object resolve(Class<?> type, ExtensionContext context);

    /**
     * Prepare a class. What it throws fails the class.
     *
     * @param context of the class; never null
     * @throws Exception if the class is not to be run
     */
    default void beforeAll(ExtensionContext context) throws Exception {}

    /**
     * Prepare a test, before its {@code @BeforeEach} methods. What it throws fails the test.
     *
     * @param context of the test; never null
     * @throws Exception if the test is not to be run
     */
    default void beforeEach(ExtensionContext context) throws Exception {}

    /**
     * Begin what is about the test method alone. What it throws fails the test.
     *
     * @param context of the test; never null
     * @throws Exception if the test is not to be run
     */
    default void beforeTestExecution(ExtensionContext context) throws Exception {}

    /**
     * End what was begun for the test method. What it throws fails the test.
     *
     * @param context of the test; never null
     * @throws Exception if the test is to fail
     */
    default void afterTestExecution(ExtensionContext context) throws Exception {}
}
