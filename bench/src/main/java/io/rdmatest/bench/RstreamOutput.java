package io.rdmatest.bench;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The row that rstream prints of a custom test, read strictly.
 *
 * @param microsPerTransfer the mean time of a transfer in microseconds
 */
record RstreamOutput(double microsPerTransfer) {

    private static final String HEADING = "name bytes xfers iters total time Gb/sec usec/xfer";
    private static final Pattern ROW =
            Pattern.compile("custom (\\S+) (\\S+) (\\S+) (\\S+) (\\d+\\.\\d+)s (\\d+\\.\\d+) (\\d+\\.\\d+)");

    /**
     * Reads the output of a client.
     *
     * @param lines its lines
     * @throws NotMeasuredException if a line is missing or not as it was, or the program found wrong data
     */
    static RstreamOutput of(List<String> lines) {
        for (int i = 0; i < lines.size(); i++) {
            String words = words(lines.get(i));
            if (words.startsWith("name ")) {
                if (!words.equals(HEADING)) {
                    throw changed("the columns", lines.get(i));
                }
                String next = i + 1 < lines.size() ? lines.get(i + 1) : "[its output ends]";
                Matcher row = ROW.matcher(words(next));
                if (!row.matches()) {
                    throw changed("the row of numbers", next);
                }
                return new RstreamOutput(Double.parseDouble(row.group(7)));
            }
        }
        throw new NotMeasuredException(
                "rstream printed no table; its last line is '%s'".formatted(lines.isEmpty() ? "" : lines.getLast()));
    }

    private static String words(String line) {
        return line.strip().replaceAll("\\s+", " ");
    }

    private static NotMeasuredException changed(String what, String line) {
        return new NotMeasuredException("rstream printed %s in a format that is not known: '%s'".formatted(what, line));
    }
}
