package io.rdmatest.scenarios.node;

import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.Map;

/**
 * The current counters of a port, {@link io.rdmatest.fabric.FabricDevice#counters()}.
 *
 * @param values the values by name
 */
public record CounterValues(Map<String, Long> values) {

    /** Copies the values. */
    public CounterValues {
        values = Map.copyOf(values);
    }

    /** Reads the counters of the node that it runs on. */
    public record Read() implements Role<CounterValues> {

        @Override
        public CounterValues run(RoleContext context) {
            return new CounterValues(context.device().counters());
        }
    }
}
