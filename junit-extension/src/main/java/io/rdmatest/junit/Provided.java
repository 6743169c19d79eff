package io.rdmatest.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Fill a field with a resource, as a parameter of the same type with the same qualifiers would be filled.
 *
 * <p>A static field is filled before the {@code @BeforeAll} methods, with a resource that lives as long as the class. An
 * instance field is filled before the {@code @BeforeEach} methods of each test, with a resource that lives as long as the
 * test, also where all tests of the class share one instance; those can then not run at the same time.
 * {@link Scoped @Scoped} chooses another scope. Private fields will do; final ones won't.
 *
 * <p>Two {@code QueuePair} fields, both static or both not, are the client and the server of one connection, in the order of
 * their declaration.
 */
@Target({ElementType.FIELD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Provided {}
