package io.rdmatest.scenarios.node;

import io.rdmatest.scenarios.engine.Role;
import io.rdmatest.scenarios.engine.RoleContext;
import java.util.Map;

/**
 * The counters of a port as they are at a moment, {@link io.rdmatest.fabric.FabricDevice#counters()}.
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
            return new CounterValues(context.device().counters());
        }
    }
}
