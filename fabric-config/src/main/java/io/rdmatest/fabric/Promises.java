package io.rdmatest.fabric;

import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * What a fabric file says that a node's device can do. A test that needs something promised, and does not find it, is not
 * skipped but fails: the fabric broke its promise.
 *
 * @param capabilities what the device has; may be empty
 * @param rate the least rate of the port in Gb/s; 0 if none is promised
 * @param mtu the least active MTU of the port in bytes; 0 if none is promised
 */
public record Promises(Set<DeviceCapability> capabilities, double rate, int mtu) {

    /** Promises nothing. */
    public static final Promises NONE = new Promises(Set.of(), 0, 0);

    static final double HIGHEST_RATE = 10_000;

    /** Copies the capabilities. */
    public Promises {
        EnumSet<DeviceCapability> copy = EnumSet.noneOf(DeviceCapability.class);
        copy.addAll(capabilities);
        capabilities = Collections.unmodifiableSet(copy);
    }

    /**
     * Lists the promises that a device does not keep.
     *
     * @param device what the device can do
     * @param port what its port can do
     * @return one sentence each; empty if all is well
     */
    public List<String> brokenBy(DeviceCapabilities device, PortAttributes port) {
        List<String> broken = new ArrayList<>();
        for (DeviceCapability capability : capabilities) {
            device.lack(capability).ifPresent(why -> broken.add(capability + " is promised, but " + why));
        }
        if (port.rateGbps() < rate) {
            broken.add("a rate of " + number(rate) + " Gb/s is promised, but it is " + number(port.rateGbps()));
        }
        if (port.activeMtu().bytes() < mtu) {
            broken.add("an MTU of " + mtu + " is promised, but the active one is "
                    + port.activeMtu().bytes());
        }
        return List.copyOf(broken);
    }

    private static String number(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
    }
}
