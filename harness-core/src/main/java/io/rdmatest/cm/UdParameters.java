package io.rdmatest.cm;

import io.rdmatest.verbs.AddressHandleAttributes;
import org.jspecify.annotations.Nullable;

/**
 * The address of a datagram service or a multicast group (struct rdma_ud_param, rdma_get_cm_event(3)).
 *
 * @param qpNumber the destination queue pair; 0xFFFFFF for a multicast group
 * @param qkey the Q_Key for sends
 * @param address the attributes of an address handle; null in a CONNECT_REQUEST, which does not have them
 */
public record UdParameters(int qpNumber, int qkey, @Nullable AddressHandleAttributes address) {

    /**
     * Returns the attributes of an address handle.
     *
     * @throws IllegalStateException if the event does not have them
     */
    public AddressHandleAttributes requireAddress() {
        if (address == null) {
            throw new IllegalStateException("this event has no address: take it from the first received datagram");
        }
        return address;
    }
}
