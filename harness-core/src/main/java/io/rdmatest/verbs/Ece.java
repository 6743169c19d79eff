package io.rdmatest.verbs;

/**
 * Enhanced connection establishment: what two devices of one vendor agree on for a connection, beyond the specification
 * (struct ibv_ece; ibv_query_ece(3), ibv_set_ece(3)).
 *
 * @param vendorId the vendor's IEEE OUI, 24 bits; 0 if there is nothing to agree on
 * @param options bits that only the vendor's devices understand
 */
public record Ece(int vendorId, int options) {

    /** Checks the range. */
    public Ece {
        AddressHandleAttributes.range("vendorId", vendorId, 0xffffff);
    }
}
