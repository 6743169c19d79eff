package io.rdmatest.scenarios.command;

import io.rdmatest.scenarios.engine.ConnectionResult.Times;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;

/** The durations of the steps of many connections, as cmtime(1) reports them. */
public final class Phases {

    private final Map<String, Histogram> phases = new LinkedHashMap<>();

    public Phases(List<Times> times) {
        add("resolve address", times, Times::resolve);
        add("resolve route", times, Times::route);
        add("connect", times, Times::connect);
        add("disconnect", times, Times::disconnect);
    }

    private void add(String name, List<Times> times, ToLongFunction<Times> phase) {
        Histogram histogram = new Histogram(3);
        times.stream().mapToLong(phase).filter(nanos -> nanos > 0).forEach(histogram::recordValue);
        if (histogram.getTotalCount() > 0) {
            phases.put(name, histogram);
        }
    }

    /** Returns a line for each step that this side took. */
    public List<String> lines() {
        return phases.entrySet().stream()
                .map(phase -> "  %-15s %s".formatted(phase.getKey(), Latency.text(phase.getValue())))
                .toList();
    }

    public Map<String, Object> json() {
        Map<String, Object> fields = new LinkedHashMap<>();
        phases.forEach((name, histogram) -> fields.put(name, Latency.json(histogram)));
        return fields;
    }

    /** Returns the rate per second; 0 if no time passed. */
    public static double rate(long count, long nanos) {
        return nanos <= 0 ? 0 : count * 1e9 / nanos;
    }
}
