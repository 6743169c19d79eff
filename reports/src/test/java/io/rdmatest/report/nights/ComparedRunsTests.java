package io.rdmatest.report.nights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.Measurement.Kind;
import io.rdmatest.report.nights.Qualification.Scenario;
import io.rdmatest.report.nights.QualificationComparison.Change;
import io.rdmatest.report.nights.QualificationComparison.Finding;
import io.rdmatest.report.nights.QualificationComparison.Shift;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs that a comparison has to tell apart, and clean ones that it must not. */
class ComparedRunsTests {

    private static Qualification run(Measurement... measurements) {
        return run(List.of(measurements));
    }

    private static Qualification run(List<Measurement> measurements) {
        Map<String, Measurement> byName = new LinkedHashMap<>();
        measurements.forEach(each -> byName.put(each.name(), each));
        return new Qualification(Path.of("run.json"), Map.of(), Map.of("x", new Scenario("passed", "", byName)));
    }

    /** What a night measured, from an unknown number of samples. */
    private static Measurement[] night(double rate, double p50, double p99, double max) {
        return new Measurement[] {
            Measurement.rate("throughput", rate, "Gb/s"),
            Measurement.percentile("round trip p50", 50, p50, "us", 0),
            Measurement.percentile("round trip p99", 99, p99, "us", 0),
            Measurement.percentile("round trip max", 100, max, "us", 0)
        };
    }

    private static QualificationComparison compare(List<Qualification> before, Qualification after) {
        return new QualificationComparison(before, after, 14, 0.2);
    }

    private static List<String> worse(QualificationComparison comparison) {
        return comparison.shifts().stream()
                .filter(shift -> shift.change() == Change.WORSE)
                .map(Shift::measurement)
                .toList();
    }

    private static Measurement p50(double value) {
        return Measurement.percentile("round trip p50", 50, value, "us", 2000);
    }

    /** A summary of version 3, with one scenario. */
    private static Qualification named(String id, String name, double rate) throws IOException {
        return Qualification.of(
                Path.of(name + ".json"),
                new ObjectMapper()
                        .readTree("{\"schemaVersion\": 3, \"environment\": {}, \"scenarios\": [{\"id\": \"" + id
                                + "\", \"name\": \"" + name
                                + "\", \"verdict\": \"passed\", \"measurements\": {\"throughput\":"
                                + " {\"value\": " + rate
                                + ", \"unit\": \"Gb/s\", \"kind\": \"rate\", \"better\": \"higher\"}}}]}"));
    }

    @Test
    void aScenarioThatIsRenamedIsTheSameIfItsIdIs() throws IOException {
        QualificationComparison same = compare(List.of(named("X.y", "old name", 90)), named("X.y", "new name", 40));
        assertThat(same.turns()).isEmpty();
        assertThat(worse(same)).containsExactly("throughput");

        QualificationComparison other = compare(List.of(named("X.z", "old name", 90)), named("X.y", "new name", 40));
        assertThat(other.turns()).hasSize(2);
    }

    @Test
    void aRateThatFallsToNothingIsWorse() throws IOException {
        QualificationComparison comparison = compare(List.of(run(night(92.1, 3.2, 9, 50))), run(night(0, 3.2, 9, 50)));

        assertThat(worse(comparison)).containsExactly("throughput");
        assertThat(comparison.lines()).contains("  worse   x: throughput 92.1 -> 0 Gb/s (0.00 times)");
        assertThat(worse(compare(
                        List.of(run(Measurement.rate("throughput", 92.1, "Gb/s"))),
                        run(Measurement.rate("throughput", 0, "Gb/s")))))
                .containsExactly("throughput");
        assertThat(worse(compare(List.of(run(p50(3.2))), run(p50(0)))))
                .as("a time of 0 was not measured")
                .hasSize(1);
    }

    @Test
    void tailsAreWorseByWhatTheirSamplesCarry() throws IOException {
        assertThat(worse(compare(List.of(run(night(92.1, 3.2, 9, 50))), run(night(92.1, 3.2, 9000, 500_000)))))
                .containsExactly("round trip max", "round trip p99");
        // Nine times, of 2,000 samples and of 200, of which two lie beyond it.
        assertThat(worse(compare(List.of(run(p99(9, 2000))), run(p99(81, 2000)))))
                .hasSize(1);
        assertThat(worse(compare(List.of(run(p99(9, 200))), run(p99(81, 200))))).isEmpty();
        assertThat(worse(compare(List.of(run(p99(9, 200))), run(p99(91, 200))))).hasSize(1);
        assertThat(worse(compare(List.of(run(p99(9, 2000))), run(p99(17, 2000)))))
                .as("less than twice")
                .isEmpty();
        assertThat(worse(compare(
                        List.of(run(Measurement.percentile("max", 100, 50, "us", 2000))),
                        run(Measurement.percentile("max", 100, 500_000, "us", 2000)))))
                .hasSize(1);
    }

    private static Measurement p99(double value, long samples) {
        return Measurement.percentile("round trip p99", 99, value, "us", samples);
    }

    @Test
    void aMeasurementThatIsGoneIsWorseWhereTheScenarioPassed() throws IOException {
        Qualification before = run(night(92.1, 3.2, 9, 50));

        QualificationComparison gone = compare(List.of(before), run());

        assertThat(gone.shifts())
                .hasSize(4)
                .allMatch(shift -> shift.change() == Change.WORSE && shift.finding() == Finding.MISSING);
        assertThat(gone.json().get("measurements").toString()).contains("after=null");
        Qualification skipped = new Qualification(
                Path.of("s.json"), Map.of(), Map.of("x", new Scenario("skipped", "peer absent: b", Map.of())));
        assertThat(compare(List.of(before), skipped).count(Change.WORSE))
                .as("the verdict says it")
                .isEqualTo(1);
        assertThat(compare(List.of(run(), run(), before), run()).count(Change.WORSE))
                .as("most runs did not have it")
                .isZero();
        Measurement demanded = Measurement.limit("demanded: throughput", 80, "Gb/s");
        assertThat(compare(List.of(run(demanded)), run()).count(Change.WORSE))
                .as("it was no measurement")
                .isZero();
    }

    /** Earlier builds reported the 99.99th percentile of 50 pings. */
    @Test
    void aPercentileThatTheSamplesDoNotSupportIsNotMissed() throws IOException {
        Qualification before = run(
                Measurement.percentile("ping p50", 50, 3, "us", 0),
                Measurement.percentile("ping p99.99", 99.99, 9, "us", 0),
                Measurement.percentile("ping max", 100, 9, "us", 0));
        Measurement median = Measurement.percentile("ping p50", 50, 3, "us", 50);
        Measurement max = Measurement.percentile("ping max", 100, 9, "us", 50);

        QualificationComparison few = compare(List.of(before), run(median, max));

        assertThat(few.shifts()).isEmpty();
        assertThat(few.lines()).contains("Not compared: 1 percentiles, for which this run has too few samples");
        assertThat(worse(compare(List.of(before), run(median.of(10_000), max.of(10_000)))))
                .containsExactly("ping p99.99");
    }

    @ParameterizedTest
    @CsvSource({"29, 1, true", "1, 29, true", "29, 1, false", "10, 4, false"})
    void oneBadNightHidesNoOther(int nightsBefore, int nightsAfter, boolean tails) throws IOException {
        List<Qualification> nights = new ArrayList<>();
        for (int night = 0; night <= nightsBefore + nightsAfter; night++) {
            double median = night == nightsBefore ? 10 : 3.2;
            nights.add(tails ? run(night(92.1, median, 9, 50)) : run(p50(median * (1 + night % 3 * 0.01))));
        }
        assertThat(worse(compare(nights, tails ? run(night(92.1, 9.5, 9, 50)) : run(p50(9.5)))))
                .containsExactly("round trip p50");
    }

    @Test
    void slowDriftIsWorse() {
        Random random = new Random(7);
        List<Qualification> nights = new ArrayList<>();
        int told = -1;
        for (int night = 0; night < 60 && told < 0; night++) {
            Qualification now = run(p50(3.2 * Math.pow(1.006, night) * (1 + random.nextGaussian() * 0.02)));
            if (night > 0) {
                QualificationComparison comparison = compare(nights, now);
                if (comparison.count(Change.WORSE) > 0) {
                    told = night;
                    assertThat(comparison.shifts())
                            .singleElement()
                            .satisfies(shift -> assertThat(shift.finding()).isEqualTo(Finding.DRIFT));
                    assertThat(comparison.lines()).anyMatch(line -> line.contains("round trip p50 drifts 3."));
                }
            }
            nights.add(now);
        }
        // Then it is 20 % slower: 1.006 to the 31st.
        assertThat(told).isBetween(31, 50);
    }

    @Test
    void aStepThatHasBecomeUsualIsStillADriftUntilTheOlderRunsAreGone() {
        List<Qualification> nights = new ArrayList<>();
        for (int night = 0; night < 45; night++) {
            nights.add(run(p50(night < 20 ? 3.2 + night % 3 * 0.01 : 4.2 + night % 3 * 0.01)));
        }
        assertThat(compare(nights, run(p50(4.2))).shifts())
                .singleElement()
                .satisfies(shift -> assertThat(shift.finding()).isEqualTo(Finding.DRIFT));
        assertThat(compare(nights.subList(20, 45), run(p50(4.2))).shifts()).isEmpty();
    }

    @Test
    void countsAreWorseInTheirOwnDirection() throws IOException {
        assertThat(worse(compare(List.of(run(outOfOrder(0))), run(outOfOrder(900)))))
                .hasSize(1);
        assertThat(worse(compare(List.of(run(outOfOrder(0))), run(outOfOrder(5)))))
                .isEmpty();
        assertThat(compare(List.of(run(outOfOrder(900))), run(outOfOrder(0))).count(Change.BETTER))
                .isEqualTo(1);
        assertThat(worse(compare(List.of(run(messages(1000))), run(messages(0)))))
                .hasSize(1);
        Measurement other = new Measurement("retries", Kind.OTHER, 0, "count", Better.NEITHER, null, 0);
        assertThat(compare(
                                List.of(run(other)),
                                run(new Measurement("retries", Kind.OTHER, 900, "count", Better.NEITHER, null, 0)))
                        .shifts())
                .isEmpty();
        assertThat(worse(compare(
                        List.of(run(outOfOrder(0).of(0))), run(outOfOrder(900).of(0)))))
                .hasSize(1);
    }

    private static Measurement outOfOrder(long count) {
        return Measurement.count("out of order", count, "messages", Better.LOWER);
    }

    private static Measurement messages(long count) {
        return Measurement.count("messages", count, "messages", Better.HIGHER);
    }

    @Test
    void whereNothingIsInCommonNothingIsCompared() {
        Qualification empty = new Qualification(Path.of("empty.json"), Map.of(), Map.of());
        Qualification skipped = new Qualification(
                Path.of("s.json"), Map.of(), Map.of("x", new Scenario("skipped", "not selected", Map.of())));

        for (QualificationComparison comparison :
                List.of(compare(List.of(empty), empty), compare(List.of(skipped), skipped))) {
            assertThat(comparison.isAnythingCompared()).isFalse();
            assertThat(comparison.summary())
                    .isEqualTo("nothing was compared: the runs have no scenario in common that was not skipped");
        }
        assertThat(compare(List.of(run(p50(1))), run(p50(1))).isAnythingCompared())
                .isTrue();
        assertThat(compare(List.of(run()), run()).isAnythingCompared())
                .as("a verdict is")
                .isTrue();
    }

    @Test
    void onlyTheLastRunsSayWhatIsUsual() {
        List<Qualification> nights = new ArrayList<>(Collections.nCopies(20, run(p50(10))));
        nights.addAll(Collections.nCopies(5, run(p50(3.2))));

        assertThat(worse(new QualificationComparison(nights, run(p50(9.5)), 5, 0.2)))
                .hasSize(1);
        assertThat(worse(new QualificationComparison(nights, run(p50(9.5)), 25, 0.2)))
                .isEmpty();
        assertThatThrownBy(() -> QualificationComparison.last(0)).hasMessage("--last is 1 to 1000 runs, not 0");
    }

    private static Qualification verdict(String verdict, String reason) {
        return new Qualification(Path.of("v.json"), Map.of(), Map.of("pairs", new Scenario(verdict, reason, Map.of())));
    }

    /** Nights with all pairs and nights without share an archive. */
    @Test
    void whatARunWasNotAskedForIsNoChangeAndHidesNone() {
        Qualification passed = verdict("passed", "");
        Qualification notAsked = verdict("skipped", "not selected: rdma.pairs is false");

        assertThat(compare(List.of(passed), notAsked).turns()).isEmpty();
        assertThat(compare(List.of(passed, notAsked), passed).turns()).isEmpty();
        assertThat(compare(List.of(passed, notAsked), verdict("failed", "1 bad pair"))
                        .turns())
                .singleElement()
                .satisfies(turn -> assertThat(turn.change()).isEqualTo(Change.WORSE));
        assertThat(compare(List.of(passed, notAsked), verdict("skipped", "peer absent: b"))
                        .turns())
                .singleElement()
                .satisfies(turn -> assertThat(turn.change()).isEqualTo(Change.WORSE));
    }

    @Test
    void aFileOfAnotherBuildIsRefused() {
        assertThatThrownBy(() -> Qualification.of(
                        Path.of("later.json"),
                        new ObjectMapper().readTree("{\"schemaVersion\": 4, \"environment\": {}, \"scenarios\": []}")))
                .isInstanceOf(IOException.class)
                .hasMessage("later.json has schemaVersion 4, and this build of rdmatest reads version 3");
        assertThatThrownBy(() -> Qualification.of(
                        Path.of("old.json"),
                        new ObjectMapper().readTree("{\"schemaVersion\": 2, \"environment\": {}, \"scenarios\": []}")))
                .isInstanceOf(IOException.class)
                .hasMessage("old.json was written by an older rdmatest: run ./qualify again");
    }

    /** Noise of a clean fabric: what a night has in common, and of its own; the tails have tails. */
    private static Qualification cleanNight(Random random) {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        double common = random.nextGaussian() * 0.02;
        for (int i = 0; i < 10; i++) {
            double base = 3 + i;
            List<Measurement> all = List.of(
                    Measurement.percentile("rtt p50", 50, noisy(random, base, common, 0.04), "us", 2000),
                    Measurement.percentile("rtt p90", 90, noisy(random, 1.2 * base, common, 0.06), "us", 2000),
                    Measurement.percentile("rtt p99", 99, noisy(random, 2 * base, common, 0.15), "us", 2000),
                    Measurement.percentile("rtt p99.9", 99.9, noisy(random, 4 * base, common, 0.3), "us", 2000),
                    // A Pareto distribution: once in 100 nights ten times the least, once in 10,000 a hundred times.
                    Measurement.percentile("rtt max", 100, 20 * base / Math.sqrt(1 - random.nextDouble()), "us", 2000),
                    Measurement.rate("throughput", noisy(random, 90, common, 0.03), "Gb/s"),
                    new Measurement(
                            "connect", Kind.DURATION, noisy(random, 200, common, 0.5), "us", Better.LOWER, null, 1),
                    Measurement.count("out of order", poisson(random, 2), "messages", Better.LOWER));
            Map<String, Measurement> byName = new LinkedHashMap<>();
            all.forEach(each -> byName.put(each.name(), each));
            scenarios.put("scenario " + i, new Scenario("passed", "", byName));
        }
        return new Qualification(Path.of("night.json"), Map.of(), scenarios);
    }

    private static double noisy(Random random, double base, double common, double own) {
        return base * Math.exp(common + random.nextGaussian() * own);
    }

    private static long poisson(Random random, double mean) {
        double product = random.nextDouble();
        long count = 0;
        for (double least = Math.exp(-mean); product > least; count++) {
            product *= random.nextDouble();
        }
        return count;
    }

    /** Returns in how many nights something is worse, each held against those before it, from a number of them on. */
    private static int alarms(int nights, int from, IntFunction<Qualification> night) {
        List<Qualification> before = new ArrayList<>();
        int alarms = 0;
        for (int i = 0; i < nights + from; i++) {
            Qualification now = night.apply(i);
            if (i >= from) {
                alarms += compare(before, now).count(Change.WORSE) > 0 ? 1 : 0;
            }
            before.add(now);
        }
        return alarms;
    }

    @Test
    void aThousandCleanNightsGiveAlmostNoAlarm() {
        long seed = Long.getLong("compared.seed", System.nanoTime());
        Random random = new Random(seed);

        int alarms = alarms(1000, 14, i -> cleanNight(random));
        // Each night has 80 measurements. 3 to 5 nights have an alarm, most of them of a count or of a maximum.
        System.out.printf("%d of 1,000 clean nights are worse, with -Dcompared.seed=%d%n", alarms, seed);
        assertThat(alarms).as("nights of 1,000, with -Dcompared.seed=" + seed).isLessThanOrEqualTo(15);
    }

    /**
     * Latencies in emulation are of two kinds, and a run is of one or of the other. What lies beyond the range of all earlier runs
     * alone would be worse in 5 to 13 % of the nights.
     */
    @ParameterizedTest
    @CsvSource({"0.5, 5", "0.3, 5", "0.5, 14", "0.3, 14"})
    void latenciesOfTwoKindsGiveFewerAlarmsThanTheirRange(double slow, int from) {
        Random random = new Random(11);
        int usual = 0;
        int range = 0;
        for (int night = 0; night < 4000; night++) {
            List<Double> values = Stream.generate(
                            () -> (random.nextDouble() < slow ? 180 : 63) * Math.exp(random.nextGaussian() * 0.03))
                    .limit(from + 1)
                    .toList();
            List<Double> earlier = values.subList(0, from);
            double now = values.getLast();
            Spread all = Spread.of(earlier);
            range += now > 1.2 * all.median() && now > all.max() ? 1 : 0;
            usual += new Usual(p50(now), 0.2).change(earlier, now) == Change.WORSE ? 1 : 0;
        }
        assertThat(2 * usual).as(range + " by the range").isLessThan(range);
    }
}
