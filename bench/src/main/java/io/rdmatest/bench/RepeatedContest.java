package io.rdmatest.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Several runs of each side make one sample, where a run is too short to be like the next one: its rate is that of all runs
 * together, each of which does as much as any other.
 */
final class RepeatedContest implements Contest {

    private final Contest once;
    private final int runs;
    private final BooleanSupplier cancelled;

    /**
     * Wraps a contest whose values are rates.
     *
     * @param once makes one run; closed with this
     * @param runs of a sample, at least 1
     * @param cancelled whether the bench is to end
     */
    RepeatedContest(Contest once, int runs, BooleanSupplier cancelled) {
        this.once = once;
        this.runs = runs;
        this.cancelled = cancelled;
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

    @Override
    public void close() {
        once.close();
    }
}
