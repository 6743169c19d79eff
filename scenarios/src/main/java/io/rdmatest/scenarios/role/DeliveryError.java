package io.rdmatest.scenarios.role;

import io.rdmatest.Cause;
import java.util.List;

/** Signals that messages of a multicast group were lost, duplicated or wrong. */
public final class DeliveryError extends AssertionError implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final transient List<Delivery> deliveries;

    /**
     * Creates the error.
     *
     * @param message one sentence with the counts
     * @param deliveries all deliveries, by receiver and sender
     */
    public DeliveryError(String message, List<Delivery> deliveries) {
        super(message);
        this.deliveries = List.copyOf(deliveries);
    }

    @Override
    public Cause rdmaCause() {
        return Cause.WRONG_DELIVERY;
    }

    /** Returns the deliveries, by receiver and sender; may be empty. */
    public List<Delivery> deliveries() {
        return deliveries;
    }
}
