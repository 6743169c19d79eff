package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.Promises;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.JUnitVersion;
import io.rdmatest.junit.RdmaConfiguration;
import java.lang.annotation.Annotation;
import java.lang.annotation.Inherited;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.AssertionFailedError;

/**
 * What the conditions behind the {@code @Requires…} annotations have in common: where an annotation is found, when what it
 * says skips a test, and when it fails it.
 *
 * @param <A> the annotation
 */
public abstract class RequirementCondition<A extends Annotation> implements ExecutionCondition, BeforeEachCallback {

    /**
     * What a test wants and does not find.
     *
     * @param reason the class of reason
     * @param detail what was looked at and what was found
     * @param promised whether the fabric file says that it is there
     */
    public record Lack(SkipReason reason, String detail, boolean promised) {

        public static Lack of(SkipReason reason, String detail) {
            return new Lack(reason, detail, false);
        }
    }

    private final Class<A> type;
    private final boolean ofDevice;

    /**
     * Begins.
     *
     * @param type the annotation
     * @param ofDevice whether there is nothing to say without a device
     */
    public RequirementCondition(Class<A> type, boolean ofDevice) {
        JUnitVersion ignored = new JUnitVersion();
        this.type = type;
        this.ofDevice = ofDevice;
    }

    /**
     * Finds out what is lacking.
     *
     * @param required the annotation
     * @param place the test or class that it is on, for messages
     * @param test the test or class that is to run, whose device is asked; the same, or inside of it
     * @return in the order of the reason; empty if the test can run
     * @throws ExtensionConfigurationException if the annotation makes no sense
     */
    protected abstract List<Lack> lacks(A required, ExtensionContext place, ExtensionContext test);

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        if (Configuration.of(context).skips() == Skips.FAIL) {
            return ConditionEvaluationResult.enabled(RdmaConfiguration.SKIPS + "=fail");
        }
        if (ofDevice && Choice.isOfInvocations(context)) {
            return ConditionEvaluationResult.enabled("each invocation is asked, of the device that it chooses");
        }
        for (ExtensionContext place : places(context)) {
            List<Lack> lacks = lacks(place, context);
            // What was promised fails the test, in beforeEach.
            if (!lacks.isEmpty() && lacks.stream().noneMatch(Lack::promised)) {
                return SkipLog.disabled(
                        lacks.getFirst().reason(), lacks.getFirst().detail(), context);
            }
        }
        return ConditionEvaluationResult.enabled("nothing that " + name() + " wants is lacking, or there is no device");
    }

    /** Classes have been asked of their own device; the one that a test or its invocation chose may be another. */
    private static List<ExtensionContext> places(ExtensionContext context) {
        List<ExtensionContext> places = new ArrayList<>(List.of(context));
        for (Optional<ExtensionContext> above = context.getParent();
                context.getTestMethod().isPresent() && above.isPresent();
                above = above.get().getParent()) {
            places.add(above.get());
        }
        return places;
    }

    /** Only here can a test fail that was to be skipped: a condition can disable and nothing else. */
    @Override
    public void beforeEach(ExtensionContext context) {
        if (ofDevice) {
            RunDevice.of(context).require();
        }
        boolean fail = Configuration.of(context).skips() == Skips.FAIL;
        for (ExtensionContext place : places(context)) {
            List<Lack> lacks = lacks(place, context);
            Optional<Lack> broken = lacks.stream().filter(Lack::promised).findFirst();
            if (broken.isPresent()) {
                throw new FabricError(
                        Cause.PROMISE_BROKEN,
                        RunDevice.of(context).fabric() + " breaks its promise: "
                                + broken.get().detail());
            }
            if (fail && !lacks.isEmpty()) {
                Lack first = lacks.getFirst();
                throw new AssertionFailedError(
                        RdmaConfiguration.SKIPS + "=fail: " + first.reason().because(first.detail()));
            }
        }
    }

    private List<Lack> lacks(ExtensionContext place, ExtensionContext test) {
        List<A> required = place.getElement().map(this::annotations).orElse(List.of());
        // Without a device beforeEach fails each test by name.
        if (required.isEmpty() || ofDevice && RunDevice.of(test).failure().isPresent()) {
            return List.of();
        }
        return required.stream()
                .flatMap(annotation -> lacks(annotation, place, test).stream())
                .toList();
    }

    /**
     * Returns all that is said of an element: by annotations on it, inherited ones, and those on annotations. JUnit's own
     * search ends with the first, and of two composed annotations it would obey one.
     */
    private List<A> annotations(AnnotatedElement element) {
        List<A> found = new ArrayList<>();
        collect(element, found, new LinkedHashSet<>());
        return found;
    }

    private void collect(AnnotatedElement element, List<A> found, Set<AnnotatedElement> seen) {
        if (!seen.add(element)) {
            return;
        }
        for (Annotation annotation : element.getAnnotations()) {
            collect(annotation, found, seen);
        }
        if (element instanceof Class<?> declared && !declared.isAnnotation()) {
            collectInherited(declared, found, seen);
        }
    }

    private void collect(Annotation annotation, List<A> found, Set<AnnotatedElement> seen) {
        Class<? extends Annotation> its = annotation.annotationType();
        if (its == type) {
            found.add(type.cast(annotation));
        } else if (!its.getName().startsWith("java.lang.annotation.")) {
            collect(its, found, seen);
        }
    }

    /** Goes where JUnit looks for what registers this condition: to superclasses and all that they implement. */
    private void collectInherited(Class<?> declared, List<A> found, Set<AnnotatedElement> seen) {
        for (Class<?> implemented : declared.getInterfaces()) {
            collect(implemented, found, seen);
        }
        Class<?> superclass = declared.getSuperclass();
        if (superclass != null && seen.add(superclass)) {
            for (Annotation annotation : superclass.getDeclaredAnnotations()) {
                // The subclass has it from Java, or one of its own in its place.
                if (!annotation.annotationType().isAnnotationPresent(Inherited.class)) {
                    collect(annotation, found, seen);
                }
            }
            collectInherited(superclass, found, seen);
        }
    }

    private String name() {
        return "@" + type.getSimpleName();
    }

    /** Makes the exception for a member that makes no sense. */
    protected final ExtensionConfigurationException wrong(ExtensionContext context, String member, String why) {
        String where = context.getElement()
                .map(element -> element instanceof Method method
                        ? "method " + method.getDeclaringClass().getSimpleName() + "." + method.getName()
                        : element instanceof Class<?> declared
                                ? "class " + declared.getSimpleName()
                                : element.toString())
                .orElse(context.getDisplayName());
        return new ExtensionConfigurationException(
                name() + (member.isEmpty() ? "" : "(" + member + ")") + " on " + where + ": " + why);
    }

    /** Refuses a number outside of its range. */
    protected final void checkRange(ExtensionContext context, String member, int value, int least, int most) {
        if (value < least || value > most) {
            throw wrong(context, member, value + " is out of range; allowed: " + least + " … " + most);
        }
    }

    /** Refuses what is no MTU of InfiniBand. */
    protected final void checkMtu(ExtensionContext context, int value) {
        List<Integer> allowed = List.of(0, 256, 512, 1024, 2048, 4096);
        if (!allowed.contains(value)) {
            throw wrong(context, "minMtu", value + " is no MTU; allowed: 256, 512, 1024, 2048, 4096, and 0 for any");
        }
    }

    /** Tells whether a regular expression matches a whole text. */
    protected final boolean matches(ExtensionContext context, String member, String expression, String text) {
        try {
            return Pattern.compile(expression).matcher(text).matches();
        } catch (PatternSyntaxException e) {
            throw wrong(context, member, "\"" + expression + "\" is no regular expression: " + e.getDescription());
        }
    }

    /** Says what is lacking of a device, with the promise that the fabric file makes of it. */
    protected static Lack ofDevice(RunDevice device, String detail, boolean promised) {
        return new Lack(
                SkipReason.UNSUPPORTED_BY_DEVICE, device.name() + "/" + device.port() + ": " + detail, promised);
    }

    public static Promises promises(RunDevice device) {
        return device.require().rail().promises();
    }

    protected static <E extends Enum<E>> String oneOf(E[] values) {
        return Arrays.stream(values).map(Object::toString).collect(Collectors.joining(" or "));
    }

    protected static String gbps(double rate) {
        return (rate == Math.rint(rate) ? Long.toString((long) rate) : Double.toString(rate)) + " Gb/s";
    }
}
