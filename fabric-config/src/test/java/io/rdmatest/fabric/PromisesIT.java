package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.DeviceContext;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PromisesIT {

    @Test
    void namesWhatTheDeviceDoesNotKeep() {
        FabricDevice device = Fabric.load().local().resolve();
        try (DeviceContext context = device.open()) {
            DeviceCapabilities all = context.capabilities();
            assertThat(new Promises(Set.of(DeviceCapability.SHARED_RECEIVE_QUEUES), 0.1, 256)
                            .brokenBy(all, device.portAttributes(), device.gid().type()))
                    .isEmpty();
            assertThat(new Promises(Set.of(DeviceCapability.TAG_MATCHING), 9_999, 4096)
                            .brokenBy(all, device.portAttributes(), device.gid().type()))
                    .contains("tag-matching is promised, but tm_caps.max_num_tags is 0")
                    .anyMatch(text -> text.startsWith("a rate of 9999 Gb/s is promised, but it is "));
        }
    }
}
