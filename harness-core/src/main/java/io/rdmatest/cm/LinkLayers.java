package io.rdmatest.cm;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.RdmaDevice;
import org.jspecify.annotations.Nullable;

/** Recognises an unsupported link layer, for which the kernel has no errno of its own. */
final class LinkLayers {

    private LinkLayers() {}

    /**
     * Explains a failure to bind or to resolve an address.
     *
     * @param failure the failure to throw if there is no better explanation
     * @param id the id of the address
     * @param nativeAddress whether the address is a native InfiniBand one
     * @param errno the kernel's errno
     */
    static RuntimeException explain(RuntimeException failure, CmId id, boolean nativeAddress, int errno) {
        boolean noDevice = errno == rdma_h.ENODEV() || errno == rdma_h.EADDRNOTAVAIL();
        if (nativeAddress && noDevice && !hasInfiniband()) {
            return nativeAddressing(failure, id.describe());
        }
        boolean refused = noDevice || errno == rdma_h.EINVAL();
        if (id.portSpace() == PortSpace.IPOIB && !id.hasDevice() && refused && !hasInfiniband()) {
            return unsupported(
                    failure,
                    id.describe(),
                    "The IPOIB port space needs an InfiniBand link layer: use the UDP port space on Ethernet.");
        }
        return failure;
    }

    static RdmaException nativeAddressing(@Nullable RuntimeException cause, String operands) {
        return unsupported(
                cause,
                operands,
                "AF_IB addressing needs an InfiniBand link layer: RoCE and iWARP devices are addressed by IP.");
    }

    private static RdmaException unsupported(@Nullable RuntimeException cause, String operands, String cure) {
        String call = cause instanceof RdmaException e ? e.call() : "rdma_resolve_addr";
        RdmaException exception = new RdmaException(call, operands, rdma_h.EOPNOTSUPP(), cure);
        if (cause != null) {
            Throwable ignored = exception.initCause(cause);
        }
        return exception;
    }

    /** Returns whether this host has an InfiniBand port. */
    static boolean hasInfiniband() {
        for (RdmaDevice device : RdmaDevice.list()) {
            try (DeviceContext context = device.open()) {
                for (int port = 1; port <= context.attributes().physicalPorts(); port++) {
                    if (context.port(port).linkLayer() == LinkLayer.INFINIBAND) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
}
