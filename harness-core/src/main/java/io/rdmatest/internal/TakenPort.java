package io.rdmatest.internal;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;

/** Tells a port that is taken from an address that is not there. */
public final class TakenPort {

    private TakenPort() {}

    /**
     * Explains a failure to bind. The kernel answers EADDRNOTAVAIL also for a port that is taken, where either of the two that
     * want it is bound to any address.
     *
     * @param failure of rdma_bind_addr(3) or rbind
     * @param address what was to be bound; null if it is none of IP
     * @param operands of the call, as a person would name them
     * @return EADDRINUSE if it was that; else the failure
     */
    public static RdmaException explain(RdmaException failure, @Nullable InetSocketAddress address, String operands) {
        // Of port 0 it says that no port is left.
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
