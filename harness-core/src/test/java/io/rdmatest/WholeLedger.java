package io.rdmatest;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Runs the tests of a class alone: they end with a look at all native objects of the process, where those of a test beside
 * them would be taken for leaks. The extension, which tells tests apart, is not there yet in this module.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ResourceLock(value = "io.rdmatest.device", mode = ResourceAccessMode.READ_WRITE)
public @interface WholeLedger {}
