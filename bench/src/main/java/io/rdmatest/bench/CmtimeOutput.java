package io.rdmatest.bench;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The steps that cmtime prints, read strictly.
 *
 * @param totalMillis what all connections together took for a step, in milliseconds, by the name of the step and in order
 */
record CmtimeOutput(Map<String, Double> totalMillis) {

    private static final String HEADING = "step total ms max ms min us us / conn";
    private static final Pattern ROW =
            Pattern.compile("(\\w[\\w ]*\\w) ?: (\\d+\\.\\d+) (\\d+\\.\\d+) (\\d+\\.\\d+) (\\d+\\.\\d+)");

    /** The steps until a connection stands. */
    private static final List<String> SET_UP =
            List.of("create id", "resolve addr", "resolve route", "create qp", "connect");

    CmtimeOutput {
        totalMillis = Collections.unmodifiableMap(new LinkedHashMap<>(totalMillis));
    }

    /**
     * Reads the output of a client.
     *
     * @param lines its lines
     * @throws NotMeasuredException if a line is missing or not as it was
     */
    static CmtimeOutput of(List<String> lines) {
        Map<String, Double> steps = new LinkedHashMap<>();
        boolean inTable = false;
        for (String line : lines) {
            String words = line.strip().replaceAll("\\s+", " ");
            if (words.startsWith("step ")) {
                if (!words.equals(HEADING)) {
                    throw changed("the columns", line);
                }
                inTable = true;
            } else if (inTable && !words.isEmpty()) {
                Matcher row = ROW.matcher(words);
                if (!row.matches()) {
                    throw changed("a step", line);
                }
                steps.put(row.group(1), Double.parseDouble(row.group(2)));
            }
        }
        if (!steps.keySet().containsAll(SET_UP)) {
            throw new NotMeasuredException("cmtime printed the steps %s; needed are %s; its last line is '%s'"
                    .formatted(steps.keySet(), SET_UP, lines.isEmpty() ? "" : lines.getLast()));
        }
        return new CmtimeOutput(steps);
    }

    private static NotMeasuredException changed(String what, String line) {
        return new NotMeasuredException("cmtime printed %s in a format that is not known: '%s'".formatted(what, line));
    }

    /** Returns the time until all connections stood, in milliseconds. */
    double setUpMillis() {
        return SET_UP.stream().mapToDouble(totalMillis::get).sum();
    }
}
