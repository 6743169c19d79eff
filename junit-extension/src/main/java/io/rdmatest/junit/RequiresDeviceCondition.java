package io.rdmatest.junit;

import io.rdmatest.verbs.AtomicCapability;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;
import org.opentest4j.AssertionFailedError;

/** The condition behind {@link RequiresDevice @RequiresDevice}. */
final class RequiresDeviceCondition implements ExecutionCondition, BeforeEachCallback {

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        if (Configuration.of(context).failOnSkip()) {
            return ConditionEvaluationResult.enabled(RdmaConfiguration.FAIL_ON_SKIP + "=true");
        }
        return reason(context)
                .map(ConditionEvaluationResult::disabled)
                .orElseGet(
                        () -> ConditionEvaluationResult.enabled("the device has what is required, or there is none"));
    }

    /** Only here can a test fail that was to be skipped: a condition can disable and nothing else. */
    @Override
    public void beforeEach(ExtensionContext context) {
        RunDevice.of(context).require();
        if (!Configuration.of(context).failOnSkip()) {
            return;
        }
        Optional<ExtensionContext> current = Optional.of(context);
        while (current.isPresent()) {
            reason(current.get()).ifPresent(reason -> {
                throw new AssertionFailedError(RdmaConfiguration.FAIL_ON_SKIP + "=true: " + reason);
            });
            current = current.get().getParent();
        }
    }

    private static Optional<String> reason(ExtensionContext context) {
        Optional<RequiresDevice> annotation =
                context.getElement().flatMap(e -> AnnotationSupport.findAnnotation(e, RequiresDevice.class));
        RunDevice device = annotation.isPresent() ? RunDevice.of(context) : null;
        // Without a device beforeEach fails each test by name.
        return device == null || device.failure().isPresent()
                ? Optional.empty()
                : reason(annotation.get(), device, context);
    }

    private static Optional<String> reason(RequiresDevice required, RunDevice device, ExtensionContext context) {
        String name = device.name();
        if (!required.name().isEmpty()
                && !pattern(required.name(), context).matcher(name).matches()) {
            return Optional.of(SkipReason.NOT_SELECTED.because(
                    "the run is on " + name + ", and the test on a device matching " + required.name()));
        }
        String driver = device.driver();
        if (required.driver().length > 0
                && Arrays.stream(required.driver())
                        .noneMatch(
                                text -> pattern(text, context).matcher(driver).matches())) {
            return Optional.of(SkipReason.NOT_SELECTED.because("the driver of " + name + " is " + driver
                    + ", and the test is for " + String.join(", ", required.driver())));
        }
        List<String> lacking = new ArrayList<>();
        PortAttributes port = device.portAttributes();
        DeviceAttributes attributes = device.attributes();
        lack(lacking, "transport", required.transport(), device.transport());
        lack(lacking, "link layer", required.linkLayer(), port.linkLayer());
        lack(lacking, "GID type", required.gidType(), device.gidType());
        if (required.atomics() && attributes.atomicCapability() == AtomicCapability.NONE) {
            lacking.add("it has no atomics (IBV_ATOMIC_NONE)");
        }
        if (required.sharedReceiveQueues() && attributes.maxSrq() == 0) {
            lacking.add("it has no shared receive queues (max_srq is 0)");
        }
        if (required.multicast() && attributes.maxMcastGroups() == 0) {
            lacking.add("it has no multicast (max_mcast_grp is 0)");
        }
        if (port.activeMtu().bytes() < required.minMtu()) {
            lacking.add("its active MTU is " + port.activeMtu().bytes() + " and not " + required.minMtu());
        }
        return lacking.isEmpty()
                ? Optional.empty()
                : Optional.of(SkipReason.UNSUPPORTED_BY_DEVICE.because(
                        name + "/" + device.port() + ": " + String.join(", ", lacking)));
    }

    private static <E extends Enum<E>> void lack(List<String> lacking, String what, E[] allowed, E actual) {
        List<E> list = List.of(allowed);
        if (!list.isEmpty() && !list.contains(actual)) {
            lacking.add("its " + what + " is " + actual + " and not "
                    + (list.size() == 1 ? list.getFirst() : "one of " + list));
        }
    }

    private static Pattern pattern(String text, ExtensionContext context) {
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException e) {
            throw new ExtensionConfigurationException(
                    "@RequiresDevice on " + context.getElement().orElseThrow() + ": \"" + text
                            + "\" is no regular expression: " + e.getDescription(),
                    e);
        }
    }
}
