package io.rdmatest.scenarios;

import io.rdmatest.ConnectionMode;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Transport;
import org.opentest4j.TestAbortedException;

/** What a scenario needs that not every device has; without it the scenario is skipped, and the reason says what is missing. */
public final class DeviceNeeds {

    private final FabricDevice device;

    private DeviceNeeds(FabricDevice device) {
        this.device = device;
    }

    /**
     * Looks at the device of this JVM, which stands for both ends: across transports there is no connection.
     *
     * @param stage where the scenario runs
     */
    public static DeviceNeeds of(Stage stage) {
        return new DeviceNeeds(stage.here().local().orElseThrow());
    }

    /**
     * Requires a capability.
     *
     * @param capability what an attribute of the device tells
     * @throws org.opentest4j.TestAbortedException if the device does not have it
     */
    public void capability(DeviceCapability capability) {
        try (DeviceContext context = device.open()) {
            context.capabilities().lack(capability).ifPresent(why -> {
                throw lack("has no " + capability + " (" + why + ")");
            });
        }
    }

    /**
     * Requires a way to connect. A queue pair of iWARP hangs on a TCP connection, which only a connection manager makes (RFC 5044).
     *
     * @param bringUp the way
     * @throws org.opentest4j.TestAbortedException if the device's queue pairs can't be connected by it
     */
    public void bringUp(ConnectionMode bringUp) {
        if (bringUp == ConnectionMode.RAW && isIwarp()) {
            throw lack("is an iWARP device, whose queue pairs are connected by rdma_cm only");
        }
    }

    /**
     * Requires messages with immediate data, which RFC 5040 does not have.
     *
     * @throws org.opentest4j.TestAbortedException on iWARP
     */
    public void immediateData() {
        if (isIwarp()) {
            throw lack("is an iWARP device, whose messages carry no immediate data");
        }
    }

    /**
     * Requires queue pairs that await acknowledgements. On iWARP, TCP does (RFC 5044), and rdma_cm takes the time and drops it.
     *
     * @throws org.opentest4j.TestAbortedException on iWARP
     */
    public void ackTimeout() {
        if (isIwarp()) {
            throw lack("is an iWARP device, whose queue pairs have no ACK timeout");
        }
    }

    private boolean isIwarp() {
        return device.device().transport() == Transport.IWARP;
    }

    private RuntimeException lack(String text) {
        return new TestAbortedException(
                SkipReason.UNSUPPORTED_BY_DEVICE.because(device.device().name() + " " + text));
    }
}
