package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Declare that a test, or all tests of a class, must not share the run's devices with another test: because it measures,
 * judges counters of the device, looks at the ledger as a whole, or breaks something that others rely on.
 *
 * <p>It matters only where JUnit's parallel execution is switched on, and works on any test, {@link RdmaTest @RdmaTest} or
 * not. An exclusive method makes JUnit run its whole class alone and its methods one after the other if the class is an
 * {@code @RdmaTest}: keep such methods in a class of their own.
 */
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ResourceLock(value = RdmaTest.DEVICE_LOCK, mode = ResourceAccessMode.READ_WRITE)
public @interface ExclusiveDevice {}
