package io.rdmatest.cm;

import io.rdmatest.verbs.AddressHandleAttributes;
import org.jspecify.annotations.Nullable;

/**
 * How to reach a datagram service or a multicast group (struct rdma_ud_param, rdma_get_cm_event(3)).
 *
 * @param qpNumber the queue pair to send to; 0xFFFFFF for a multicast group
 * @param qkey the Q_Key that a datagram must carry
 * @param address what an address handle is made from; null in a CONNECT_REQUEST, which does not bring it
 */
public record UdParameters(int qpNumber, int qkey, @Nullable AddressHandleAttributes address) {

    /**
     * Returns what an address handle is made from.
     *
     * @throws IllegalStateException if the event did not bring it
     */
    public AddressHandleAttributes requireAddress() {
        if (address == null) {
            throw new IllegalStateException("this event brings no address: take it from the first datagram received");
        }
        return address;
    }
}
