package io.rdmatest.scenarios.options;

import io.rdmatest.scenarios.role.Fault;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The options of a program. Each field carries picocli's annotation with its letter, long name and text, and has the default as
 * its initial value. So the same class is filled in by a command line, given to a role, and sent to other nodes.
 *
 * <p>Only picocli, and the reader of options from another node, change an object. Two objects are equal if all their fields are
 * equal. Fields that only a command line needs are transient: they are not compared, and are not sent to other nodes.
 *
 * @param <O> the class itself
 */
public abstract class Options<O extends Options<O>> implements Cloneable {

    /** Creates the options with their defaults. */
    protected Options() {}

    /**
     * Checks ranges and options that exclude each other.
     *
     * @throws IllegalArgumentException if something is wrong; the message is one sentence that names the value and what is allowed
     */
    public abstract void check();

    /**
     * Returns these options with the values that every program takes from a command line.
     *
     * @param timeout how long any one wait may take
     * @param givenTimeout the same if it was given; null if it is the default
     * @param fault the fault that this side injects
     * @throws IllegalArgumentException if these or other values are wrong, as for {@link #check}
     */
    public abstract O withCommon(Duration timeout, @Nullable Duration givenTimeout, Fault fault);

    /**
     * Returns a changed copy.
     *
     * @throws IllegalArgumentException if the result is wrong, as for {@link #check}
     */
    protected final O with(Consumer<? super O> change) {
        O copy = copy();
        change.accept(copy);
        copy.check();
        return copy;
    }

    @SuppressWarnings("unchecked")
    private O copy() {
        try {
            return (O) clone();
        } catch (CloneNotSupportedException e) {
            throw new IllegalStateException("Options can always be cloned", e);
        }
    }

    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof Options<?> options
                && options.getClass() == getClass()
                && options.values().equals(values());
    }

    @Override
    public final int hashCode() {
        return values().hashCode();
    }

    /** Returns the fields as a record does, such as {@code UcmatoseOptions[port=7471, ...]}. */
    @Override
    public final String toString() {
        StringJoiner text = new StringJoiner(", ", getClass().getSimpleName() + "[", "]");
        List<@Nullable Object> values = values();
        List<Field> fields = fields();
        for (int i = 0; i < fields.size(); i++) {
            text.add(fields.get(i).getName() + "=" + values.get(i));
        }
        return text.toString();
    }

    /**
     * Checks options from another node before they are read. Every field must be there, and must have a value if its default is
     * not null. This object is the options with their defaults.
     *
     * @param has whether a field of this name is there
     * @param isNull whether it has no value
     * @throws IllegalArgumentException if one is missing; the message names it
     */
    public final void requireWhole(Predicate<? super String> has, Predicate<? super String> isNull) {
        List<Field> fields = fields();
        List<@Nullable Object> defaults = values();
        for (int i = 0; i < fields.size(); i++) {
            String name = fields.get(i).getName();
            if (!has.test(name)) {
                throw new IllegalArgumentException("The option " + name + " is missing");
            }
            if (isNull.test(name) && defaults.get(i) != null) {
                throw new IllegalArgumentException("The option " + name + " has no value");
            }
        }
    }

    private List<Field> fields() {
        List<Field> fields = new ArrayList<>();
        for (Class<?> type = getClass(); type != Options.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                int modifiers = field.getModifiers();
                if (!Modifier.isStatic(modifiers) && !Modifier.isTransient(modifiers) && !field.isSynthetic()) {
                    fields.add(field);
                }
            }
        }
        return fields;
    }

    private List<@Nullable Object> values() {
        List<@Nullable Object> values = new ArrayList<>();
        for (Field field : fields()) {
            try {
                field.setAccessible(true);
                values.add(field.get(this));
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(field + " cannot be read", e);
            }
        }
        return values;
    }
}
