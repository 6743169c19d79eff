package io.rdmatest.verbs;

import java.util.Optional;
import java.util.Set;

/**
 * What a device says and shows of its abilities, read once with {@link DeviceContext#capabilities()}.
 *
 * @param attributes what ibv_query_device(3) says
 * @param extended what ibv_query_device_ex(3) says
 * @param services the types of which a queue pair could be made: no attribute tells
 */
public record DeviceCapabilities(DeviceAttributes attributes, ExtendedDeviceAttributes extended, Set<QpType> services) {

    /** Copies the services. */
    public DeviceCapabilities {
        services = Set.copyOf(services);
    }

    /**
     * Tells whether the device has a capability.
     *
     * @param capability what is asked for
     * @return whether it has it
     */
    public boolean has(DeviceCapability capability) {
        return lack(capability).isEmpty();
    }

    /**
     * Says how it was seen that the device lacks a capability.
     *
     * @param capability what is asked for
     * @return for example {@code "max_srq is 0"}; empty if the device has it
     */
    public Optional<String> lack(DeviceCapability capability) {
        return capability.lack(this);
    }
}
