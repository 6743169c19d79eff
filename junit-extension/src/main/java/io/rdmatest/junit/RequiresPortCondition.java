package io.rdmatest.junit;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresPort @RequiresPort}. */
final class RequiresPortCondition extends RequirementCondition<RequiresPort> {

    RequiresPortCondition() {
        super(RequiresPort.class, true);
    }

    @Override
    List<Lack> lacks(RequiresPort required, ExtensionContext place, ExtensionContext test) {
        checkMtu(place, required.minMtu());
        checkRange(place, "minPorts", required.minPorts(), 0, 255);
        double wanted = required.minRate();
        if (!(wanted >= 0) || Double.isInfinite(wanted)) {
            throw wrong(place, "minRate", wanted + " is no rate; allowed: Gb/s from 0");
        }
        RunDevice device = RunDevice.of(test);
        List<Lack> lacks = new ArrayList<>();
        double rate = device.portAttributes().rateGbps();
        if (rate < wanted) {
            lacks.add(ofDevice(
                    device,
                    "its rate is " + (rate > 0 ? gbps(rate) : "unknown") + ", and the test wants " + gbps(wanted),
                    promises(device).rate() >= wanted));
        }
        mtuLack(device, required.minMtu()).ifPresent(lacks::add);
        int ports = device.capabilities().attributes().physicalPorts();
        if (ports < required.minPorts()) {
            lacks.add(ofDevice(
                    device,
                    "the device has " + ports + (ports == 1 ? " port" : " ports") + ", and the test wants "
                            + required.minPorts(),
                    false));
        }
        return lacks;
    }

    static Optional<Lack> mtuLack(RunDevice device, int wanted) {
        return smallMtu(device.portAttributes().activeMtu().bytes(), wanted)
                .map(why -> ofDevice(device, why, promises(device).mtu() >= wanted));
    }

    static Optional<String> smallMtu(int mtu, int wanted) {
        return mtu >= wanted
                ? Optional.empty()
                : Optional.of("its active MTU is " + mtu + ", and the test wants " + wanted);
    }
}
