package io.rdmatest.junit;

import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceCapability;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresCapability @RequiresCapability}. */
final class RequiresCapabilityCondition extends RequirementCondition<RequiresCapability> {

    private static final int MOST_INLINE = 65536;

    RequiresCapabilityCondition() {
        super(RequiresCapability.class, true);
    }

    @Override
    List<Lack> lacks(RequiresCapability required, ExtensionContext place, ExtensionContext test) {
        checkRange(place, "minInline", required.minInline(), 0, MOST_INLINE);
        checkRange(place, "minSge", required.minSge(), 0, Integer.MAX_VALUE);
        checkRange(place, "minQueueDepth", required.minQueueDepth(), 0, Integer.MAX_VALUE);
        checkRange(place, "minReadAtomic", required.minReadAtomic(), 0, Integer.MAX_VALUE);
        RunDevice device = RunDevice.of(test);
        List<Lack> lacks = new ArrayList<>();
        for (DeviceCapability capability : required.value()) {
            lack(device, capability).ifPresent(lacks::add);
        }
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

    static Optional<Lack> lack(RunDevice device, DeviceCapability capability) {
        return device.capabilities()
                .lack(capability)
                .map(why -> ofDevice(
                        device,
                        "it has no " + capability + " (" + why + ")",
                        promises(device).capabilities().contains(capability)));
    }

    private static void few(List<Lack> lacks, RunDevice device, String attribute, int actual, int wanted) {
        if (actual < wanted) {
            lacks.add(ofDevice(device, "its " + attribute + " is " + actual + ", and the test wants " + wanted, false));
        }
    }
}
