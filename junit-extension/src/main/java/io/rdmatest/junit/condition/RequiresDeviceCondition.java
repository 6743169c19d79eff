package io.rdmatest.junit.condition;

import io.rdmatest.SkipReason;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.junit.engine.RequirementCondition;
import io.rdmatest.junit.engine.RunDevice;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresDevice @RequiresDevice}. */
final class RequiresDeviceCondition extends RequirementCondition<RequiresDevice> {

    private static final int MOST_INLINE = 65536;

    RequiresDeviceCondition() {
        super(RequiresDevice.class, true);
    }

    @Override
    protected List<Lack> lacks(RequiresDevice required, ExtensionContext place, ExtensionContext test) {
        check(required, place);
        RunDevice device = RunDevice.of(test);
        Optional<Lack> another = anotherDevice(required, place, device);
        if (another.isPresent()) {
            return List.of(another.get());
        }
        List<Lack> lacks = new ArrayList<>();
        protocolLacks(lacks, required, device);
        for (DeviceCapability capability : required.capabilities()) {
            capabilityLack(device, capability).ifPresent(lacks::add);
        }
        portLacks(lacks, required, device);
        if (required.minInline() > 0) {
            few(lacks, device, "max_inline_data", device.maxInline(), required.minInline());
        }
        DeviceAttributes attributes = device.capabilities().attributes();
        few(lacks, device, "max_sge", attributes.maxSge(), required.minSge());
        few(lacks, device, "max_qp_wr", attributes.maxQpWr(), required.minQueueDepth());
        few(lacks, device, "max_qp_rd_atom", attributes.maxQpRdAtom(), required.minReadAtomic());
        few(lacks, device, "max_qp_init_rd_atom", attributes.maxQpInitRdAtom(), required.minReadAtomic());
        return lacks;
    }

    private void check(RequiresDevice required, ExtensionContext place) {
        checkMtu(place, required.minMtu());
        if (!(required.minRate() >= 0) || Double.isInfinite(required.minRate())) {
            throw wrong(place, "minRate", required.minRate() + " is no rate; allowed: Gb/s from 0");
        }
        checkRange(place, "minPorts", required.minPorts(), 0, 255);
        checkRange(place, "minInline", required.minInline(), 0, MOST_INLINE);
        checkRange(place, "minSge", required.minSge(), 0, Integer.MAX_VALUE);
        checkRange(place, "minQueueDepth", required.minQueueDepth(), 0, Integer.MAX_VALUE);
        checkRange(place, "minReadAtomic", required.minReadAtomic(), 0, Integer.MAX_VALUE);
    }

    private Optional<Lack> anotherDevice(RequiresDevice required, ExtensionContext place, RunDevice device) {
        String name = device.name();
        if (!required.name().isEmpty() && !matches(place, "name", required.name(), name)) {
            return Optional.of(Lack.of(
                    SkipReason.NOT_SELECTED,
                    "the run is on " + name + ", and the test on a device matching " + required.name()));
        }
        String driver = device.driver();
        if (required.driver().length > 0
                && Arrays.stream(required.driver()).noneMatch(text -> matches(place, "driver", text, driver))) {
            return Optional.of(Lack.of(
                    SkipReason.NOT_SELECTED,
                    "the driver of " + name + " is " + driver + ", and the test is for "
                            + String.join(", ", required.driver())));
        }
        return Optional.empty();
    }

    private static void protocolLacks(List<Lack> lacks, RequiresDevice required, RunDevice device) {
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
    }

    private static void portLacks(List<Lack> lacks, RequiresDevice required, RunDevice device) {
        double wanted = required.minRate();
        double rate = device.portAttributes().rateGbps();
        if (rate < wanted) {
            lacks.add(ofDevice(
                    device,
                    "its rate is " + (rate > 0 ? gbps(rate) : "unknown") + ", and the test wants " + gbps(wanted),
                    promises(device).rate() >= wanted));
        }
        smallMtu(device.portAttributes().activeMtu().bytes(), required.minMtu())
                .map(why -> ofDevice(device, why, promises(device).mtu() >= required.minMtu()))
                .ifPresent(lacks::add);
        int ports = device.capabilities().attributes().physicalPorts();
        if (ports < required.minPorts()) {
            lacks.add(ofDevice(
                    device,
                    "the device has " + ports + (ports == 1 ? " port" : " ports") + ", and the test wants "
                            + required.minPorts(),
                    false));
        }
    }

    private static Optional<Lack> capabilityLack(RunDevice device, DeviceCapability capability) {
        return device.capabilities()
                .lack(capability)
                .map(why -> ofDevice(
                        device,
                        "it has no " + capability + " (" + why + ")",
                        promises(device).capabilities().contains(capability)));
    }

    static Optional<String> smallMtu(int mtu, int wanted) {
        return mtu >= wanted
                ? Optional.empty()
                : Optional.of("its active MTU is " + mtu + ", and the test wants " + wanted);
    }

    private static void few(List<Lack> lacks, RunDevice device, String attribute, int actual, int wanted) {
        if (actual < wanted) {
            lacks.add(ofDevice(device, "its " + attribute + " is " + actual + ", and the test wants " + wanted, false));
        }
    }

    private static <E extends Enum<E>> Lack differs(
            RunDevice device, String what, E actual, E[] wanted, boolean promised) {
        return ofDevice(device, "its " + what + " is " + actual + ", and the test wants " + oneOf(wanted), promised);
    }
}
