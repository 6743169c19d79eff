package io.rdmatest.junit;

import io.rdmatest.fabric.GidSelector;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresDevice @RequiresDevice}. */
final class RequiresDeviceCondition extends RequirementCondition<RequiresDevice> {

    RequiresDeviceCondition() {
        super(RequiresDevice.class, true);
    }

    @Override
    List<Lack> lacks(RequiresDevice required, ExtensionContext place, ExtensionContext test) {
        checkMtu(place, required.minMtu());
        RunDevice device = RunDevice.of(test);
        String name = device.name();
        if (!required.name().isEmpty() && !matches(place, "name", required.name(), name)) {
            return List.of(Lack.of(
                    SkipReason.NOT_SELECTED,
                    "the run is on " + name + ", and the test on a device matching " + required.name()));
        }
        String driver = device.driver();
        if (required.driver().length > 0
                && Arrays.stream(required.driver()).noneMatch(text -> matches(place, "driver", text, driver))) {
            return List.of(Lack.of(
                    SkipReason.NOT_SELECTED,
                    "the driver of " + name + " is " + driver + ", and the test is for "
                            + String.join(", ", required.driver())));
        }
        List<Lack> lacks = new ArrayList<>();
        PortAttributes port = device.portAttributes();
        DeviceTransport transport = device.transport();
        if (required.transport().length > 0
                && Arrays.stream(required.transport()).noneMatch(wanted -> wanted.includes(transport))) {
            lacks.add(differs(device, "transport", transport, required.transport(), false));
        }
        if (required.linkLayer().length > 0 && !List.of(required.linkLayer()).contains(port.linkLayer())) {
            lacks.add(differs(device, "link layer", port.linkLayer(), required.linkLayer(), false));
        }
        if (required.gidType().length > 0 && !List.of(required.gidType()).contains(device.gidType())) {
            GidSelector.Type promised = promises(device).gidType();
            boolean broken = promised != null
                    && Arrays.stream(required.gidType())
                            .anyMatch(wanted -> wanted.name().equals(promised.name()));
            lacks.add(differs(device, "GID type", device.gidType(), required.gidType(), broken));
        }
        if (required.atomics()) {
            RequiresCapabilityCondition.lack(device, DeviceCapability.ATOMICS).ifPresent(lacks::add);
        }
        if (required.sharedReceiveQueues()) {
            RequiresCapabilityCondition.lack(device, DeviceCapability.SHARED_RECEIVE_QUEUES)
                    .ifPresent(lacks::add);
        }
        if (required.multicast()) {
            RequiresCapabilityCondition.lack(device, DeviceCapability.MULTICAST).ifPresent(lacks::add);
        }
        RequiresPortCondition.mtuLack(device, required.minMtu()).ifPresent(lacks::add);
        return lacks;
    }

    private static <E extends Enum<E>> Lack differs(
            RunDevice device, String what, E actual, E[] wanted, boolean promised) {
        return ofDevice(device, "its " + what + " is " + actual + ", and the test wants " + oneOf(wanted), promised);
    }
}
