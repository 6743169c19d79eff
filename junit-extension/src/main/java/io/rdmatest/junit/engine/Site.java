package io.rdmatest.junit.engine;

import io.rdmatest.junit.Provided;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;

/** A place that asks for a resource: a parameter or a field. */
public sealed interface Site {

    Class<?> type();

    /** What carries the qualifiers. */
    AnnotatedElement element();

    /** The constructor or method; empty for a field. */
    Optional<Executable> executable();

    String name();

    /** For messages: {@code parameter x of Foo.bar}. */
    String where();

    /** All places that are filled together with this one, itself among them, in order of declaration. */
    List<Site> siblings();

    default <A extends Annotation> Optional<A> find(Class<A> annotation) {
        return AnnotationSupport.findAnnotation(element(), annotation);
    }

    default boolean has(Class<? extends Annotation> annotation) {
        return AnnotationSupport.isAnnotated(element(), annotation);
    }

    /** Counts the earlier siblings for which the same holds. */
    default int ordinal(Predicate<Site> same) {
        int ordinal = 0;
        for (Site sibling : siblings()) {
            if (sibling.equals(this)) {
                break;
            }
            if (same.test(sibling)) {
                ordinal++;
            }
        }
        return ordinal;
    }

    static Site of(Executable executable, int index) {
        return new OfParameter(executable, index);
    }

    /** Returns the fields to be filled of a class and its superclasses, those above first. */
    static List<Site> fields(Class<?> type, boolean statics) {
        List<Site> sites = new ArrayList<>();
        for (Field field : AnnotationSupport.findAnnotatedFields(
                type, Provided.class, f -> true, HierarchyTraversalMode.TOP_DOWN)) {
            if (Modifier.isStatic(field.getModifiers()) == statics) {
                sites.add(new OfField(type, field));
            }
        }
        return sites;
    }

    /** A parameter of a test, lifecycle method or constructor. */
    record OfParameter(Executable of, int index) implements Site {

        private Parameter parameter() {
            return of.getParameters()[index];
        }

        @Override
        public Class<?> type() {
            return parameter().getType();
        }

        @Override
        public AnnotatedElement element() {
            return parameter();
        }

        @Override
        public Optional<Executable> executable() {
            return Optional.of(of);
        }

        @Override
        public String name() {
            return parameter().isNamePresent() ? parameter().getName() : "";
        }

        @Override
        public String where() {
            String member = of.getName().equals(of.getDeclaringClass().getName()) ? "constructor" : of.getName();
            return "parameter " + parameter().getName() + " of "
                    + of.getDeclaringClass().getSimpleName() + "." + member;
        }

        @Override
        public List<Site> siblings() {
            return IntStream.range(0, of.getParameterCount())
                    .mapToObj(i -> Site.of(of, i))
                    .toList();
        }
    }

    /** A field with {@link Provided @Provided}. */
    record OfField(Class<?> testClass, Field field) implements Site {

        @Override
        public Class<?> type() {
            return field.getType();
        }

        @Override
        public AnnotatedElement element() {
            return field;
        }

        @Override
        public Optional<Executable> executable() {
            return Optional.empty();
        }

        @Override
        public String name() {
            return field.getName();
        }

        @Override
        public String where() {
            return "field " + field.getDeclaringClass().getSimpleName() + "." + field.getName();
        }

        @Override
        public List<Site> siblings() {
            return fields(testClass, Modifier.isStatic(field.getModifiers()));
        }
    }

    /** Returns the annotations of an element as they were written, for comparison. */
    default Set<Annotation> written() {
        Set<Annotation> written = new HashSet<>(Arrays.asList(element().getAnnotations()));
        written.removeIf(annotation -> annotation.annotationType() == Provided.class);
        return written;
    }
}
