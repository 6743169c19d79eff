package io.rdmatest.scenarios.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Several runs of each side make one sample, where a run is too short to be like the next one: its rate is that of all runs
 * together, each of which does as much as any other.
 */
final class RepeatedContest implements Contest {

    private final Contest once;
    private final int runs;

    /**
     * Wraps a contest whose values are rates.
     *
     * @param once makes one run; closed with this
     * @param runs of a sample, at least 1
     */
    RepeatedContest(Contest once, int runs) {
        this.once = once;
        this.runs = runs;
    }

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
        List<Double> values = new ArrayList<>();
        Map<String, Object> details = new LinkedHashMap<>();
        double time = 0;
        for (int run = 0; run < runs; run++) {
            Sample sample = side.run();
            values.add(sample.value());
            details.putAll(sample.details());
            time += 1 / sample.value();
        }
        // Of the last run, but for the values.
        details.put("runs", values);
        return new Sample(runs / time, details);
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

    @Override
    public void close() {
        once.close();
    }
}
