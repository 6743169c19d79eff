package io.rdmatest.scenarios.cprogram;

import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The output of a program of perftest, read strictly: an unknown format is an error that quotes the line, never a wrong number.
 *
 * @param parameters what the program says it did
 * @param latency the row of a latency test in microseconds; null for a bandwidth test
 * @param bandwidth the row of a bandwidth test; null for a latency test
 */
public record PerftestOutput(
        Parameters parameters,
        @Nullable Latency latency,
        @Nullable Bandwidth bandwidth) {

    private static final String NUMBER = "\\d+(?:\\.\\d+)?";

    /** The columns of ib_*_lat. */
    private static final String LATENCY_HEADING =
            "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile[usec]"
                    + " 99.9% percentile[usec]";

    private static final Pattern LATENCY_ROW =
            Pattern.compile("(\\d+) (\\d+) (%1$s) (%1$s) (%1$s) (%1$s) (%1$s|-?nan) (%1$s) (%1$s)".formatted(NUMBER));

    /** The columns of ib_*_bw; MB are 2^20 bytes as well, which newer versions say. */
    private static final String BANDWIDTH_HEADING =
            "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]";

    private static final Pattern BANDWIDTH_ROW =
            Pattern.compile("(\\d+) (\\d+) (%1$s) (%1$s) (%1$s)".formatted(NUMBER));

    /**
     * The common parameters of both sides, taken from the program and given to our side.
     *
     * @param sizeBytes bytes of a message
     * @param iterations how many
     * @param txDepth sends outstanding at most
     * @param rxDepth receives posted at most
     * @param cqModeration a completion for so many sends
     * @param mtuBytes the path MTU
     * @param inlineBytes up to which size data is sent inline
     * @param outstandingReads reads in flight at most; 0 if the program does not read
     */
    public record Parameters(
            int sizeBytes,
            int iterations,
            int txDepth,
            int rxDepth,
            int cqModeration,
            int mtuBytes,
            int inlineBytes,
            int outstandingReads) {}

    /**
     * The row of a latency test, in microseconds; half a round trip, for reads a whole one.
     *
     * @param min the shortest
     * @param max the longest
     * @param typical the median
     * @param average the mean
     * @param deviation the standard deviation; NaN where perftest prints "-nan", as it does if the longest is far from the others
     * @param p99 the 99th percentile
     * @param p999 the 99.9th percentile
     */
    public record Latency(
            double min, double max, double typical, double average, double deviation, double p99, double p999) {}

    /** The row of a bandwidth test: MiB (2^20 bytes) per second, and million messages per second. */
    public record Bandwidth(double peakMiB, double averageMiB, double millionMessages) {}

    /**
     * Reads the output of a latency program.
     *
     * @param lines its lines
     * @throws ProgramOutputException if a line is missing or has an unknown format
     */
    public static PerftestOutput latency(List<String> lines) {
        Matcher row = row(lines, LATENCY_HEADING, LATENCY_ROW);
        return new PerftestOutput(
                parameters(lines, row),
                new Latency(
                        number(row, 3),
                        number(row, 4),
                        number(row, 5),
                        number(row, 6),
                        number(row, 7),
                        number(row, 8),
                        number(row, 9)),
                null);
    }

    /**
     * Reads the output of a bandwidth program.
     *
     * @param lines its lines
     * @throws ProgramOutputException if a line is missing or has an unknown format
     */
    public static PerftestOutput bandwidth(List<String> lines) {
        Matcher row = row(lines, BANDWIDTH_HEADING, BANDWIDTH_ROW);
        return new PerftestOutput(
                parameters(lines, row), null, new Bandwidth(number(row, 3), number(row, 4), number(row, 5)));
    }

    private static double number(Matcher row, int group) {
        String number = row.group(group);
        return number.endsWith("nan") ? Double.NaN : Double.parseDouble(number);
    }

    private static String words(String line) {
        return line.strip().replaceAll("\\s+", " ");
    }

    private static Matcher row(List<String> lines, String heading, Pattern pattern) {
        for (int i = 0; i < lines.size(); i++) {
            String words = words(lines.get(i));
            if (words.startsWith("#bytes")) {
                if (!words.replace("[MiB/sec]", "[MB/sec]").equals(heading)) {
                    throw changed("the columns", lines.get(i));
                }
                String next = i + 1 < lines.size() ? lines.get(i + 1) : "[its output ends]";
                Matcher row = pattern.matcher(words(next));
                if (!row.matches()) {
                    throw changed("the row of numbers", next);
                }
                return row;
            }
        }
        throw new ProgramOutputException(
                "perftest printed no table; its last line is '%s'".formatted(lines.isEmpty() ? "" : lines.getLast()));
    }

    private static ProgramOutputException changed(String what, String line) {
        return new ProgramOutputException(
                "perftest printed %s in a format that is not known: '%s'".formatted(what, line));
    }

    private static Parameters parameters(List<String> lines, Matcher row) {
        return new Parameters(
                Integer.parseInt(row.group(1)),
                Integer.parseInt(row.group(2)),
                setting(lines, "TX depth", "", 1),
                // A side that only sends, or is passive, does not print the number of receives.
                setting(lines, "RX depth", "", 512),
                setting(lines, "CQ Moderation", "", 1),
                setting(lines, "Mtu", "[B]", -1),
                setting(lines, "Max inline data", "[B]", 0),
                setting(lines, "Outstand reads", "", 0));
    }

    /** Reads a line such as {@code Mtu : 1024[B]}. */
    private static int setting(List<String> lines, String name, String unit, int otherwise) {
        Pattern pattern =
                Pattern.compile("\\s*" + Pattern.quote(name) + "\\s*:\\s*(\\d{1,9})" + Pattern.quote(unit) + "\\s*");
        for (String line : lines) {
            if (line.strip().toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT))) {
                Matcher matcher = pattern.matcher(line);
                if (!matcher.matches()) {
                    throw changed("the setting " + name, line);
                }
                return Integer.parseInt(matcher.group(1));
            }
        }
        if (otherwise < 0) {
            throw new ProgramOutputException("perftest did not print the setting " + name);
        }
        return otherwise;
    }
}
