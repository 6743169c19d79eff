package io.rdmatest.bench;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.Role;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** The two sides of a row, each of which can be run again and again. */
interface Contest {

    /**
     * Runs the C program once.
     *
     * @throws NotMeasuredException if it fails, or prints what is not known
     */
    Sample theirs() throws IOException, InterruptedException;

    /** Runs ours once, with the parameters of the last run of {@link #theirs}; it has run before. */
    Sample ours() throws IOException, InterruptedException;

    /**
     * Returns how often the last run of ours made the same call again: its lists of messages, its messages, or its connections.
     */
    int repetitions();

    /** Returns what both sides were given, by name; complete after both have run. */
    Map<String, Object> parameters();

    /**
     * The result of one run of one side.
     *
     * @param value in the unit of the row, more than 0
     * @param details what else there is to say about the run, for machines: percentiles, bytes moved
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

    /**
     * What the rows of a bench are measured with.
     *
     * @param device the device that both sides use
     * @param step how long either side may take for any one run
     * @param scale by which the repetitions of a run are multiplied, more than 0
     * @param processors what the ends of rows that poll without pause are bound to
     * @param cancelled whether the bench is to end
     */
    record Context(FabricDevice device, Duration step, double scale, Processors processors, BooleanSupplier cancelled) {

        /** Checks the scale. */
        public Context {
            if (!(scale > 0) || scale > 1000) {
                throw new IllegalArgumentException("The scale is more than 0 and at most 1000, not " + scale);
            }
        }

        /** Returns a number of repetitions, scaled. */
        int scaled(int repetitions) {
            return (int) Math.clamp(Math.round(repetitions * scale), 5, 100_000_000);
        }

        String address() {
            return device.address().getHostAddress();
        }

        /** Runs both roles of ours, each on its processor. */
        <R> LocalRoles.Pair<R, R> runPolling(Role<R> server, Role<R> client) {
            return LocalRoles.runPair(
                    device,
                    Processors.on(processors.server(), server),
                    Processors.on(processors.client(), client),
                    step);
        }

        /** Runs both roles of ours, on any processor, and returns the client's result. */
        <R> R runClient(Role<?> server, Role<R> client) {
            return LocalRoles.runPair(device, server, client, step).client();
        }
    }

    /**
     * Several runs of each side make one sample, where a run is too short to be like the next one: its rate is the harmonic mean
     * of theirs.
     *
     * @param once makes one run, whose value is a rate
     * @param runs of a sample, at least 1
     * @param cancelled whether the bench is to end
     */
    record Repeated(Contest once, int runs, BooleanSupplier cancelled) implements Contest {

        @FunctionalInterface
        private interface Side {
            Sample run() throws IOException, InterruptedException;
        }

        @Override
        public Sample theirs() throws IOException, InterruptedException {
            return all(once::theirs);
        }

        @Override
        public Sample ours() throws IOException, InterruptedException {
            return all(once::ours);
        }

        private Sample all(Side side) throws IOException, InterruptedException {
            List<Sample> samples = new ArrayList<>();
            double time = 0;
            for (int run = 0; run < runs; run++) {
                Bench.requireGoingOn(cancelled);
                Sample sample = side.run();
                samples.add(sample);
                time += 1 / sample.value();
            }
            return new Sample(runs / time, Map.of("runs", List.copyOf(samples)));
        }

        @Override
        public int repetitions() {
            return runs * once.repetitions();
        }

        @Override
        public Map<String, Object> parameters() {
            Map<String, Object> all = new LinkedHashMap<>(once.parameters());
            all.put("runsOfASample", runs);
            return all;
        }
    }
}
