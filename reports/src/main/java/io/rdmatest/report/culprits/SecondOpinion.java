package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Culprit.Confirmation;
import io.rdmatest.report.culprits.Culprit.Evidence;
import io.rdmatest.report.culprits.PairLine.Outcome;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The result of another program, such as ib_write_bw(1), for a bad pair of a cause and for a good pair. Each pair was measured
 * alone, one after the other. So the two are compared with each other, not with what rdmatest measures.
 *
 * @param program its name
 * @param bad the value of the bad pair in bit/s, or in messages/s if the message rate shows the cause; NaN if it was not measured
 * @param good the value of the good pair, likewise
 * @param agrees whether the bad pair is bad for this program as well; null if that can't be decided
 * @param reason why there is no second opinion, as a clause; null if there is one
 */
record SecondOpinion(
        String program,
        double bad,
        double good,
        @Nullable Boolean agrees,
        @Nullable String reason) {

    /** Returns the members of its JSON object, in their order; members without a value are left out. */
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

    /** Returns the metric by which another program's values are compared with a cause. */
    static Metric metric(Evidence evidence) {
        return evidence.metric().equals(Metric.MESSAGE_RATE.member) ? Metric.MESSAGE_RATE : Metric.BANDWIDTH;
    }

    /**
     * Adds the result of another program for a cause to the evidence.
     *
     * @param evidence the evidence for the cause
     * @param lines what other programs measured on the rail of the cause
     * @param isBad returns whether a line is about a cell of the cause
     * @param isGood returns whether a line is about a cell that no cause explains
     * @param share returns the logarithm of a line's bandwidth or message rate, as a share of the line rate
     * @param limit the logarithm below which a cell is nearer to the cause than to what is usual
     * @return the evidence with the result; unchanged if no line is about the cause
     */
    static Evidence judge(
            Evidence evidence,
            List<PairLine> lines,
            Predicate<PairLine> isBad,
            Predicate<PairLine> isGood,
            ToDoubleFunction<PairLine> share,
            double limit) {
        List<PairLine> asked = lines.stream().filter(isBad).toList();
        if (asked.isEmpty()) {
            return evidence;
        }
        Metric metric = metric(evidence);
        String program = Objects.requireNonNull(asked.getLast().instrument());
        List<PairLine> beside = lines.stream()
                .filter(isGood)
                .filter(line -> program.equals(line.instrument()))
                .toList();
        double bad = median(asked, metric::of);
        double good = median(beside, metric::of);
        if (Double.isNaN(bad)) {
            return without(evidence, program, asked.getLast().reason());
        }
        if (Double.isNaN(good)) {
            return without(
                    evidence,
                    program,
                    beside.isEmpty() ? null : beside.getLast().reason());
        }
        double difference = median(asked, share) - median(beside, share);
        // The share is unknown if rdmatest measured another metric.
        boolean isLower = (Double.isNaN(difference) ? Math.log(bad / good) : difference) < limit;
        // This program counts no errors, so it can't show that there are none.
        Boolean agrees = !isLower && evidence.metric().equals(Metric.COUNTERS.member) ? null : Boolean.valueOf(isLower);
        return evidence.with(
                new SecondOpinion(program, bad, good, agrees, null),
                clause(
                        program,
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

    private static Evidence without(Evidence evidence, String program, @Nullable String reason) {
        String why = reason == null ? "no good pair was measured beside the bad one" : reason;
        return evidence.with(
                new SecondOpinion(program, Double.NaN, Double.NaN, null, why), "no second opinion: " + why);
    }

    private static double median(List<PairLine> lines, ToDoubleFunction<PairLine> value) {
        double[] values = lines.stream()
                .filter(line -> line.outcome() == Outcome.MEASURED)
                .mapToDouble(value)
                .filter(each -> !Double.isNaN(each))
                .toArray();
        return Quantiles.median(values);
    }
}
