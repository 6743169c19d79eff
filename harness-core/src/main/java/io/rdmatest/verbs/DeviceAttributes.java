package io.rdmatest.verbs;

/**
 * What a device can do (ibv_query_device(3)). Limits are upper bounds: an object may be refused below them.
 *
 * @param firmware the firmware's version; empty if the device has none
 * @param nodeGuid the node's GUID, host order
 * @param vendorId the vendor's IEEE identifier
 * @param vendorPartId the vendor's part number
 * @param hardwareVersion the vendor's hardware version
 * @param maxMrSize the largest memory region in bytes; all ones means no limit
 * @param maxQp queue pairs
 * @param maxQpWr outstanding work requests on one queue
 * @param maxSge scatter/gather elements of a work request
 * @param maxCq completion queues
 * @param maxCqe entries of one completion queue
 * @param maxMr memory regions
 * @param maxPd protection domains
 * @param maxQpRdAtom reads and atomics outstanding per queue pair as the target
 * @param maxQpInitRdAtom reads and atomics outstanding per queue pair as the initiator
 * @param atomicCapability how far atomics are atomic
 * @param maxMcastGroups multicast groups
 * @param maxMcastQpAttach queue pairs of one multicast group
 * @param maxAh address handles
 * @param maxSrq shared receive queues
 * @param maxSrqWr outstanding work requests on one shared receive queue
 * @param maxSrqSge scatter elements of a shared receive queue's request
 * @param maxMw memory windows
 * @param maxPkeys partition table entries
 * @param physicalPorts ports
 * @param capabilityFlags IBV_DEVICE_* bits as the device reports them
 */
public record DeviceAttributes(
        String firmware,
        long nodeGuid,
        int vendorId,
        int vendorPartId,
        int hardwareVersion,
        long maxMrSize,
        int maxQp,
        int maxQpWr,
        int maxSge,
        int maxCq,
        int maxCqe,
        int maxMr,
        int maxPd,
        int maxQpRdAtom,
        int maxQpInitRdAtom,
        AtomicCapability atomicCapability,
        int maxMcastGroups,
        int maxMcastQpAttach,
        int maxAh,
        int maxSrq,
        int maxSrqWr,
        int maxSrqSge,
        int maxMw,
        int maxPkeys,
        int physicalPorts,
        int capabilityFlags) {}
