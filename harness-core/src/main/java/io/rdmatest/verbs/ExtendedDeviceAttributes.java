package io.rdmatest.verbs;

/**
 * What a device can do beyond {@link DeviceAttributes} (ibv_query_device_ex(3)). If the provider does not have that call,
 * everything is 0.
 *
 * @param odpCapabilities IBV_ODP_SUPPORT_* bits of on-demand paging in general: 1 explicit, 2 implicit
 * @param rcOdpCapabilities the operations that page on demand on reliable connections, IBV_ODP_SUPPORT_* bits
 * @param ucOdpCapabilities the same on unreliable connections
 * @param udOdpCapabilities the same on unreliable datagrams
 * @param xrcOdpCapabilities the same on extended reliable connections
 * @param completionTimestampMask the valid bits of a completion's timestamp; 0 if there are no timestamps
 * @param coreClockKhz the frequency of the device's clock in kHz; 0 if unknown
 * @param capabilityFlags device_cap_flags_ex: the bits of {@link DeviceAttributes#capabilityFlags()} and those above 32
 * @param maxTso the largest payload in bytes that the device cuts into TCP segments; 0 if it does not
 * @param maxTags tagged buffers in the matching list of a shared receive queue; 0 without tag matching
 * @param maxDeviceMemory memory on the device itself in bytes; 0 if there is none
 */
public record ExtendedDeviceAttributes(
        long odpCapabilities,
        int rcOdpCapabilities,
        int ucOdpCapabilities,
        int udOdpCapabilities,
        int xrcOdpCapabilities,
        long completionTimestampMask,
        long coreClockKhz,
        long capabilityFlags,
        int maxTso,
        int maxTags,
        long maxDeviceMemory) {

    static final ExtendedDeviceAttributes NONE = new ExtendedDeviceAttributes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
