package io.rdmatest.report.nights;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.report.nights.Qualification.Scenario;
import io.rdmatest.report.nights.QualificationComparison.Change;
import io.rdmatest.report.nights.QualificationComparison.Fact;
import io.rdmatest.report.nights.QualificationComparison.Finding;
import io.rdmatest.report.nights.QualificationComparison.Shift;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntToDoubleFunction;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Thirty generated nights of one fabric, each compared with all before it, as {@code --archive} and {@code --baseline} do. */
class ThirtyNightsTests {

    private static final int NIGHTS = 30;

    /** How many nights say what is usual before the first one is judged. */
    private static final int FIRST = 5;

    private static final String SLOWEST = "bandwidth minimum";
    private static final String LATENCY = "p50 median";

    /** What a night is like, by its number: factors of what is usual. */
    private record Story(IntToDoubleFunction bandwidth, IntToDoubleFunction latency, IntUnaryOperator firmware) {

        static final Story CLEAN = new Story(night -> 1, night -> 1, night -> 39);

        Story withBandwidth(IntToDoubleFunction factor) {
            return new Story(factor, latency, firmware);
        }

        Story withLatency(IntToDoubleFunction factor) {
            return new Story(bandwidth, factor, firmware);
        }

        Story withFirmware(IntUnaryOperator version) {
            return new Story(bandwidth, latency, version);
        }

        Qualification night(int night, Random random) {
            double common = random.nextGaussian() * 0.01;
            Map<String, Measurement> measured = new LinkedHashMap<>();
            for (Measurement each : List.of(
                    rate("bandwidth median", 96.5, random, common),
                    rate(SLOWEST, 94 * bandwidth.applyAsDouble(night), random, common),
                    Measurement.percentile(
                            LATENCY, 50, noisy(3.2 * latency.applyAsDouble(night), random, common), "us", 992),
                    Measurement.count("nodes given up", 0, "count", Better.LOWER))) {
                measured.put(each.name(), each);
            }
            return new Qualification(
                    Path.of("night-%02d.json".formatted(night)),
                    Map.of("firmware", "28." + firmware.applyAsInt(night) + ".1002", "kernel", "6.12.57"),
                    Map.of("All pairs", new Scenario("passed", "", measured)));
        }

        private static Measurement rate(String name, double value, Random random, double common) {
            return Measurement.rate(name, noisy(value, random, common), "Gb/s");
        }

        private static double noisy(double value, Random random, double common) {
            return value * Math.exp(common + random.nextGaussian() * 0.02);
        }
    }

    /** What each night was told, by its number; nights with nothing to tell are absent. */
    private record Told(TreeMap<Integer, List<String>> worse, TreeMap<Integer, List<Fact>> facts) {

        static Told of(Story story, long seed) {
            Random random = new Random(seed);
            Told told = new Told(new TreeMap<>(), new TreeMap<>());
            List<Qualification> before = new ArrayList<>();
            for (int night = 0; night < NIGHTS; night++) {
                Qualification now = story.night(night, random);
                if (night >= FIRST) {
                    QualificationComparison comparison =
                            new QualificationComparison(before, now, QualificationComparison.LAST, 0.2);
                    List<String> worse = comparison.shifts().stream()
                            .filter(shift -> shift.change() == Change.WORSE)
                            .map(Told::text)
                            .toList();
                    if (!worse.isEmpty()) {
                        told.worse.put(night, worse);
                    }
                    if (!comparison.facts().isEmpty()) {
                        told.facts.put(night, comparison.facts());
                    }
                }
                before.add(now);
            }
            return told;
        }

        private static String text(Shift shift) {
            return shift.measurement() + (shift.finding() == Finding.DRIFT ? " drifts" : "");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void cleanNightsSayNothing(long seed) {
        Told told = Told.of(Story.CLEAN, seed);

        assertThat(told.worse).isEmpty();
        assertThat(told.facts).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void aStepIsToldInItsNight(long seed) {
        Told told = Told.of(Story.CLEAN.withBandwidth(night -> night < 17 ? 1 : 0.5), seed);

        assertThat(told.worse.firstEntry()).isEqualTo(Map.entry(17, List.of(SLOWEST)));
        assertThat(told.worse.values())
                .allSatisfy(worse -> assertThat(worse).allMatch(each -> each.startsWith(SLOWEST)));
    }

    /** 2 % more each night from night 8 on: no night is much worse than the one before. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void aDriftIsToldBeforeItIsHalfAsMuchAgain(long seed) {
        Told told = Told.of(Story.CLEAN.withLatency(night -> Math.pow(1.02, Math.max(0, night - 8))), seed);

        // By night 18 it is 20 % more, by night 28 half as much again.
        assertThat(told.worse.firstKey()).isBetween(17, 28);
        assertThat(told.worse.values())
                .allSatisfy(worse -> assertThat(worse).allMatch(each -> each.startsWith(LATENCY)));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void aFlappingLinkIsToldInEachNightThatItIsDown(long seed) {
        Set<Integer> down = Set.of(11, 19, 27);
        Told told = Told.of(Story.CLEAN.withBandwidth(night -> down.contains(night) ? 0.41 : 1), seed);

        assertThat(told.worse.keySet()).containsExactlyInAnyOrderElementsOf(down);
        assertThat(told.worse.values()).containsOnly(List.of(SLOWEST));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void aReplacedCardIsToldOnceAndIsNotWorse(long seed) {
        Told told = Told.of(Story.CLEAN.withFirmware(night -> night < 21 ? 39 : 43), seed);

        assertThat(told.facts)
                .containsExactly(Map.entry(21, List.of(new Fact("firmware", "28.39.1002", "28.43.1002"))));
        assertThat(told.worse).isEmpty();
    }
}
