package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import java.util.List;

/** Messages of a multicast group were lost, came twice, or were not as they were sent. */
public final class DeliveryError extends AssertionError implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final transient List<Delivery> deliveries;

    /**
     * Describes what did not arrive as it should.
     *
     * @param message one sentence with the figures
     * @param deliveries all of them, by receiver and sender
     */
    public DeliveryError(String message, List<Delivery> deliveries) {
        super(message);
        this.deliveries = List.copyOf(deliveries);
    }

    @Override
    public Cause rdmaCause() {
        return Cause.WRONG_DELIVERY;
    }

    /** Returns what arrived, by receiver and sender; may be empty. */
    public List<Delivery> deliveries() {
        return deliveries;
    }
}
