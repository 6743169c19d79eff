package io.rdmatest.scenarios.culprits;

import io.rdmatest.scenarios.culprits.Culprit.Confirmation;
import io.rdmatest.scenarios.culprits.Culprit.Evidence;
import io.rdmatest.scenarios.culprits.PairLine.Instrument;
import io.rdmatest.scenarios.culprits.PairLine.Outcome;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * What another program, such as ib_write_bw(1), measured of a bad pair of a cause, and of a good pair beside it. Both were measured
 * alone, one after the other, so that they are held against each other and not against what rdmatest measures.
 *
 * @param program its name
 * @param bad the bad pair in bit/s, or in messages/s if these show the cause; NaN if it was not measured
 * @param good the good pair, likewise
 * @param agrees whether its bad pair is bad as well; null if it can't tell
 * @param reason why there is no second opinion, as a clause; null if there is one
 */
record SecondOpinion(
        String program,
        double bad,
        double good,
        @Nullable Boolean agrees,
        @Nullable String reason) {

    /** Returns its members in JSON, in their order; those without a value are left out. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("program", program);
        put(json, "bad", Evidence.number(bad));
        put(json, "good", Evidence.number(good));
        put(json, "agrees", agrees);
        put(json, "reason", reason);
        return json;
    }

    private static void put(Map<String, Object> json, String name, @Nullable Object value) {
        if (value != null) {
            json.put(name, value);
        }
    }

    /** Returns what of another program's values is held against a cause. */
    static Metric metric(Evidence evidence) {
        return evidence.metric().equals(Metric.MESSAGE_RATE.member) ? Metric.MESSAGE_RATE : Metric.BANDWIDTH;
    }

    /**
     * Adds to evidence what another program says of a cause.
     *
     * @param evidence what speaks for the cause
     * @param lines what other programs measured on the rail of the cause
     * @param isBad tells which of them are cells of the cause
     * @param isGood tells which of them nothing explains
     * @param residual returns by how much the logarithm of a line's bandwidth or message rate is above what is usual between
     *     its ports
     * @param limit up to which logarithm a cell is nearer to the cause than to what is usual
     * @return the same if no line is about the cause
     */
    static Evidence judge(
            Evidence evidence,
            List<PairLine> lines,
            Predicate<PairLine> isBad,
            Predicate<PairLine> isGood,
            ToDoubleFunction<PairLine> residual,
            double limit) {
        List<PairLine> asked = lines.stream().filter(isBad).toList();
        if (asked.isEmpty()) {
            return evidence;
        }
        Metric metric = metric(evidence);
        Instrument instrument = Objects.requireNonNull(asked.getLast().instrument());
        List<PairLine> beside = lines.stream()
                .filter(isGood)
                .filter(line -> instrument
                        .program()
                        .equals(Objects.requireNonNull(line.instrument()).program()))
                .toList();
        double bad = median(asked, metric::of);
        double good = median(beside, metric::of);
        if (Double.isNaN(bad)) {
            return without(evidence, instrument, instrument.reason());
        }
        if (Double.isNaN(good)) {
            return without(
                    evidence,
                    instrument,
                    beside.isEmpty()
                            ? null
                            : Objects.requireNonNull(beside.getLast().instrument())
                                    .reason());
        }
        double difference = median(asked, residual) - median(beside, residual);
        // The residual is not known where rdmatest measured another metric.
        boolean isLower = (Double.isNaN(difference) ? Math.log(bad / good) : difference) < limit;
        // A program that counts no errors can't tell that there are none.
        Boolean agrees = !isLower && evidence.metric().equals(Metric.COUNTERS.member) ? null : Boolean.valueOf(isLower);
        return evidence.with(
                new SecondOpinion(instrument.program(), bad, good, agrees, null),
                clause(
                        instrument.program(),
                        Culprits.Explanation.text(metric, bad),
                        Culprits.Explanation.text(metric, good),
                        agrees,
                        evidence.confirmation()));
    }

    private static String clause(
            String program, String bad, String good, @Nullable Boolean agrees, Confirmation confirmation) {
        if (agrees != null && !agrees && confirmation == Confirmation.CONFIRMED) {
            return "%s measures %s for the bad pair, %s for a good one: look at the instrument"
                    .formatted(program, bad, good);
        }
        String both = "%s: %s bad pair, %s good pair".formatted(program, bad, good);
        if (agrees == null) {
            return both + ", and it counts no errors";
        }
        return both + (agrees ? ": the fabric" : ": not bad when it is measured alone");
    }

    private static Evidence without(Evidence evidence, Instrument instrument, @Nullable String reason) {
        String why = reason == null ? "no good pair was measured beside the bad one" : reason;
        return evidence.with(
                new SecondOpinion(instrument.program(), Double.NaN, Double.NaN, null, why),
                "no second opinion: " + why);
    }

    private static double median(List<PairLine> lines, ToDoubleFunction<PairLine> value) {
        double[] values = lines.stream()
                .filter(line -> line.outcome() == Outcome.MEASURED)
                .mapToDouble(value)
                .filter(each -> !Double.isNaN(each))
                .toArray();
        return Quantiles.median(values, values.length);
    }
}
