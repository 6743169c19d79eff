package io.rdmatest.bench;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What one run of one side brought.
 *
 * @param value in the unit of the row, more than 0
 * @param details what else there is to say about the run, for machines: percentiles, bytes moved, what the JVM counted
 */
record Sample(double value, Map<String, Object> details) {

    /** Copies the details and checks the value. */
    public Sample {
        if (!(value > 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException("A measurement is a positive number, not " + value);
        }
        details = Collections.unmodifiableMap(new LinkedHashMap<>(details));
    }
}
