package io.rdmatest.scenarios.role;

import io.rdmatest.fabric.FabricDevice;
import java.util.Map;
import java.util.TreeMap;

/**
 * The counters of a port as they are at a moment (Documentation/ABI/stable/sysfs-class-infiniband).
 *
 * @param values by their names
 */
public record CounterValues(Map<String, Long> values) {

    /** Copies the values. */
    public CounterValues {
        values = Map.copyOf(values);
    }

    /** Reads those of the node that it runs on. */
    public record Read() implements Role<CounterValues> {

        @Override
        public CounterValues run(RoleContext context) {
            FabricDevice device = context.device();
            Map<String, Long> values = new TreeMap<>(device.device().portCounters(device.port()));
            values.putAll(device.device().hardwareCounters(device.port()));
            return new CounterValues(values);
        }
    }
}
