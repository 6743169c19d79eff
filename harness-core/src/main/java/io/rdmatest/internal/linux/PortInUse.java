package io.rdmatest.internal.linux;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;

/** Distinguishes a port in use from an address that no interface has. */
public final class PortInUse {

    private PortInUse() {}

    /**
     * Corrects the errno of a failed bind. If one of two binders of a port uses the wildcard address, the kernel
     * returns EADDRNOTAVAIL for a port in use.
     *
     * @param failure of rdma_bind_addr(3) or rbind
     * @param address the address to bind; null if it is not an IP address
     * @param operands the operands of the call, readable for people
     * @return EADDRINUSE if the port is in use; else the failure
     */
    public static RdmaException explain(RdmaException failure, @Nullable InetSocketAddress address, String operands) {
        // With port 0, EADDRNOTAVAIL means that no port is free.
        if (failure.errno() != rdma_h.EADDRNOTAVAIL()
                || address == null
                || address.getPort() == 0
                || !isHere(address.getAddress())) {
            return failure;
        }
        RdmaException taken = new RdmaException(failure.call(), operands, rdma_h.EADDRINUSE());
        Throwable ignored = taken.initCause(failure);
        return taken;
    }

    private static boolean isHere(InetAddress address) {
        try {
            return address.isAnyLocalAddress() || NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            return false;
        }
    }
}
