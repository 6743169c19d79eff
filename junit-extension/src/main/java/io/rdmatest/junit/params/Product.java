package io.rdmatest.junit.params;

import io.rdmatest.junit.engine.Choice;
import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The product of the sources of one test: which parameter each serves, and all combinations of their values. */
final class Product {

    /** A parameter that may take values. */
    record Target(AnnotatedElement element, Class<?> type, String name) {}

    /** A source and the index of the parameter that takes its values; -1 for none. */
    private record Bound(Source source, int index) {}

    /** The values of one invocation, by parameter; those that no parameter takes are in the texts only. */
    record Combination(Map<Integer, Object> arguments, List<String> texts, Choice choice) {}

    private final List<Target> targets;
    private final List<Bound> bound = new ArrayList<>();

    /**
     * @param ofMethod the sources of the method or class: each serves the first parameter of a type that it has, and that no
     *     other serves
     */
    Product(List<Target> targets, List<Source> ofMethod, String where) {
        this.targets = targets;
        for (int i = 0; i < targets.size(); i++) {
            Target target = targets.get(i);
            List<Source> own = Source.on(target.element(), "parameter " + target.name() + " of " + where);
            if (own.size() > 1) {
                throw new ExtensionConfigurationException(
                        own.get(0) + " and " + own.get(1) + ": a parameter takes its values from one source");
            }
            for (Source source : own) {
                if (!source.fits(target.type())) {
                    throw new ExtensionConfigurationException(source + " gives values of the type "
                            + source.fittingTypes() + ", and the parameter is a "
                            + target.type().getSimpleName());
                }
                bound.add(new Bound(source, i));
            }
        }
        for (Source source : ofMethod) {
            int index = firstFree(source);
            if (index < 0 && !source.standsAlone()) {
                throw new ExtensionConfigurationException(
                        source + " needs a parameter of the type " + source.fittingTypes() + " that takes the values");
            }
            bound.add(new Bound(source, index));
        }
        bound.sort(Comparator.comparingInt(b -> b.source().rank()));
    }

    private int firstFree(Source source) {
        for (int i = 0; i < targets.size(); i++) {
            int index = i;
            if (source.fits(targets.get(i).type()) && bound.stream().noneMatch(b -> b.index() == index)) {
                return i;
            }
        }
        return -1;
    }

    boolean serves(int index) {
        return bound.stream().anyMatch(b -> b.index() == index);
    }

    /** Returns how many parameters take values from sources. */
    int served() {
        return (int) bound.stream().filter(b -> b.index() >= 0).count();
    }

    /** Returns a source that no parameter takes the values of; null if there is none. */
    @Nullable
    Source unserved() {
        return bound.stream()
                .filter(b -> b.index() < 0)
                .map(Bound::source)
                .findFirst()
                .orElse(null);
    }

    List<Combination> combinations(ExtensionContext context) {
        List<Combination> combinations = new ArrayList<>();
        combine(0, new TreeMap<>(), new TreeMap<>(), Choice.NONE, context, combinations);
        return combinations;
    }

    private void combine(
            int depth,
            Map<Integer, Object> arguments,
            Map<Integer, String> texts,
            Choice choice,
            ExtensionContext context,
            List<Combination> combinations) {
        if (depth == bound.size()) {
            combinations.add(new Combination(Map.copyOf(arguments), List.copyOf(texts.values()), choice));
            return;
        }
        Bound next = bound.get(depth);
        Class<?> type =
                next.index() < 0 ? Object.class : targets.get(next.index()).type();
        String prefix = next.index() < 0 ? "" : targets.get(next.index()).name() + " = ";
        // Texts in the order of the parameters, and before them what no parameter takes.
        int place = next.index() < 0 ? depth - bound.size() : next.index();
        for (Source.Value value : next.source().values(type, choice, context)) {
            Map<Integer, Object> withArgument = new TreeMap<>(arguments);
            if (next.index() >= 0) {
                withArgument.put(next.index(), value.argument());
            }
            Map<Integer, String> withText = new TreeMap<>(texts);
            withText.put(place, prefix + value.text());
            combine(depth + 1, withArgument, withText, value.choice(), context, combinations);
        }
    }
}
