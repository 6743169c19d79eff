package io.rdmatest.verbs;

import java.util.Optional;
import java.util.Set;

/**
 * What a device reports about its abilities, and what a probe found out. {@link DeviceContext#capabilities()} reads it once.
 *
 * @param attributes the result of ibv_query_device(3)
 * @param extended the result of ibv_query_device_ex(3)
 * @param services the types of queue pair that the device can create; no attribute lists them
 */
public record DeviceCapabilities(DeviceAttributes attributes, ExtendedDeviceAttributes extended, Set<QpType> services) {

    /** Copies the services. */
    public DeviceCapabilities {
        services = Set.copyOf(services);
    }

    /**
     * Tells whether the device has a capability.
     *
     * @param capability the capability
     * @return whether the device has it
     */
    public boolean has(DeviceCapability capability) {
        return lack(capability).isEmpty();
    }

    /**
     * Explains why the device counts as lacking a capability.
     *
     * @param capability the capability
     * @return for example {@code "max_srq is 0"}; empty if the device has it
     */
    public Optional<String> lack(DeviceCapability capability) {
        return capability.lack(this);
    }
}
