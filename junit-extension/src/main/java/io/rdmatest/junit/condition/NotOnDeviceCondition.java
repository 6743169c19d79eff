package io.rdmatest.junit.condition;

import io.rdmatest.SkipReason;
import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.junit.engine.RequirementCondition;
import io.rdmatest.junit.engine.RunDevice;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link NotOnDevice @NotOnDevice}. */
final class NotOnDeviceCondition extends RequirementCondition<NotOnDevice> {

    NotOnDeviceCondition() {
        super(NotOnDevice.class, true);
    }

    @Override
    protected List<Lack> lacks(NotOnDevice excluded, ExtensionContext place, ExtensionContext test) {
        if (excluded.name().isEmpty() && excluded.driver().length == 0 && excluded.transport().length == 0) {
            throw wrong(place, "", "it names no device; give name, driver or transport");
        }
        if (excluded.because().isBlank()) {
            throw wrong(place, "because", "the reason is empty; say what would be wrong with the test there");
        }
        RunDevice device = RunDevice.of(test);
        DeviceTransport transport = device.transport();
        boolean meant = (excluded.name().isEmpty() || matches(place, "name", excluded.name(), device.name()))
                && (excluded.driver().length == 0
                        || Arrays.stream(excluded.driver())
                                .anyMatch(text -> matches(place, "driver", text, device.driver())))
                && (excluded.transport().length == 0
                        || Arrays.stream(excluded.transport()).anyMatch(other -> other.includes(transport)));
        return meant
                ? List.of(Lack.of(
                        SkipReason.NOT_SELECTED,
                        "the test is not for " + device.name() + " (" + device.driver() + ", " + transport + "): "
                                + excluded.because().strip()))
                : List.of();
    }
}
