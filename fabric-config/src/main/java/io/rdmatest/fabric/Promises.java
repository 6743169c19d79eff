package io.rdmatest.fabric;

import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The properties that a fabric file promises of a node's device. A test that needs a promised property fails if the
 * device lacks it: the fabric broke its promise. Without the promise the test is skipped.
 *
 * @param capabilities the promised capabilities; may be empty
 * @param rate the lowest rate of the port in Gb/s; 0 if none is promised
 * @param mtu the smallest active MTU of the port in bytes; 0 if none is promised
 * @param gidType the type of the GID that is used; null if none is promised
 * @param lossless whether the network does not drop packets, due to credits or priority flow control
 */
public record Promises(
        Set<DeviceCapability> capabilities,
        double rate,
        int mtu,
        GidSelector.@Nullable Type gidType,
        boolean lossless) {

    /** Promises nothing. */
    public static final Promises NONE = new Promises(Set.of(), 0, 0);

    static final double HIGHEST_RATE = 10_000;

    /** Copies the capabilities. */
    public Promises {
        EnumSet<DeviceCapability> copy = EnumSet.noneOf(DeviceCapability.class);
        copy.addAll(capabilities);
        capabilities = Collections.unmodifiableSet(copy);
    }

    /** Creates promises of a device's abilities, of its rate and of its MTU. */
    public Promises(Set<DeviceCapability> capabilities, double rate, int mtu) {
        this(capabilities, rate, mtu, null, false);
    }

    /**
     * Lists the broken promises of a device. Losslessness is not checked: it shows only under traffic.
     *
     * @param device the capabilities of the device
     * @param port the attributes of its port
     * @param gid the type of the GID that is used
     * @return one sentence each; empty if there are none
     */
    public List<String> brokenBy(DeviceCapabilities device, PortAttributes port, GidType gid) {
        List<String> broken = new ArrayList<>();
        for (DeviceCapability capability : capabilities) {
            device.lack(capability).ifPresent(why -> broken.add(capability + " is promised, but " + why));
        }
        broken.addAll(brokenBy(port.rateGbps(), port.activeMtu().bytes(), gid));
        return List.copyOf(broken);
    }

    /** Lists the broken promises that show without opening the device; an MTU of 0 is unknown. */
    List<String> brokenBy(double seenRate, int seenMtu, GidType seenGid) {
        List<String> broken = new ArrayList<>();
        if (seenRate < rate) {
            broken.add("a rate of " + number(rate) + " Gb/s is promised, but it is " + number(seenRate));
        }
        if (seenMtu > 0 && seenMtu < mtu) {
            broken.add("an MTU of " + mtu + " is promised, but the active one is " + seenMtu);
        }
        if (gidType != null && !gidType.name().equals(seenGid.name())) {
            broken.add("a GID of the type " + gidType + " is promised, but it is " + seenGid);
        }
        return broken;
    }

    private static String number(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
    }
}
