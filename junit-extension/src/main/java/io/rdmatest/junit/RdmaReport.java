package io.rdmatest.junit;

import io.rdmatest.Cause;
import io.rdmatest.Measurement;
import io.rdmatest.ReportKeys;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.TestReporter;

/**
 * Tell the report what a test does and measures. Ask for it as a parameter.
 *
 * <p>Each call becomes report entries of JUnit with the keys of {@link ReportKeys}; any listener can read them. Call it
 * on the thread that runs the test: listeners attribute entries by thread.
 */
public final class RdmaReport {

    /**
     * A piece of a test.
     *
     * @param <E> what it may throw
     */
    @FunctionalInterface
    public interface Step<E extends Exception> {

        /**
         * Carry it out.
         *
         * @throws E as the step sees fit
         */
        void run() throws E;
    }

    /**
     * A piece of a test that yields a value.
     *
     * @param <T> the type of the value
     * @param <E> what it may throw
     */
    @FunctionalInterface
    public interface ValueStep<T, E extends Exception> {

        /**
         * Carry it out.
         *
         * @return the value
         * @throws E as the step sees fit
         */
        T run() throws E;
    }

    private final TestReporter reporter;

    /**
     * Report through JUnit's own reporter.
     *
     * @param reporter where entries go; never null
     */
    public RdmaReport(TestReporter reporter) {
        this.reporter = reporter;
    }

    /**
     * Carry out a step and report how it went. Steps nest.
     *
     * @param name what the step does; neither null nor empty
     * @param step the step; never null
     * @param <E> what the step throws
     * @throws E what the step throws, unchanged
     */
    public <E extends Exception> void step(String name, Step<E> step) throws E {
        publish(ReportKeys.STEP, name, ReportKeys.STEP_EVENT, ReportKeys.START);
        try {
            step.run();
        } catch (Throwable failure) {
            ended(name, failure);
            throw failure;
        }
        publish(ReportKeys.STEP, name, ReportKeys.STEP_EVENT, ReportKeys.PASSED);
    }

    /**
     * Carry out a step that yields a value, and report how it went. Steps nest.
     *
     * @param name what the step does; neither null nor empty
     * @param step the step; never null
     * @param <T> the type of the value
     * @param <E> what the step throws
     * @return what the step returns
     * @throws E what the step throws, unchanged
     */
    public <T, E extends Exception> T step(String name, ValueStep<T, E> step) throws E {
        publish(ReportKeys.STEP, name, ReportKeys.STEP_EVENT, ReportKeys.START);
        T value;
        try {
            value = step.run();
        } catch (Throwable failure) {
            ended(name, failure);
            throw failure;
        }
        publish(ReportKeys.STEP, name, ReportKeys.STEP_EVENT, ReportKeys.PASSED);
        return value;
    }

    private void ended(String name, Throwable failure) {
        String event = Cause.of(failure).verdict() == Cause.Verdict.FAILED ? ReportKeys.FAILED : ReportKeys.BROKEN;
        String message = failure.getMessage();
        publish(
                ReportKeys.STEP,
                name,
                ReportKeys.STEP_EVENT,
                event,
                ReportKeys.STEP_MESSAGE,
                message == null || message.isBlank() ? failure.getClass().getName() : message);
    }

    /**
     * Report a parameter of the test.
     *
     * @param name its name; neither null nor empty
     * @param value its value; never null
     */
    public void parameter(String name, Object value) {
        publish(ReportKeys.PARAMETER, name, ReportKeys.VALUE, value.toString());
    }

    /**
     * Place the test in the report's trees. The last label of a name counts.
     *
     * @param name {@code parentSuite}, {@code suite}, {@code subSuite} or another one that the report knows; neither null nor
     *     empty
     * @param value where the test belongs; never null
     */
    public void label(String name, String value) {
        publish(ReportKeys.LABEL, name, ReportKeys.VALUE, value);
    }

    /**
     * Report a measured number with its kind, by which runs can be compared.
     *
     * @param measurement the number; never null
     */
    public void measurement(Measurement measurement) {
        List<String> entry = new ArrayList<>(List.of(
                ReportKeys.MEASUREMENT,
                measurement.name(),
                ReportKeys.VALUE,
                decimal(measurement.name(), measurement.value()),
                ReportKeys.UNIT,
                measurement.unit(),
                ReportKeys.KIND,
                measurement.kind().toString(),
                ReportKeys.BETTER,
                measurement.better().toString()));
        Double percentile = measurement.percentile();
        if (percentile != null) {
            entry.addAll(List.of(ReportKeys.PERCENTILE, decimal(measurement.name(), percentile)));
        }
        if (measurement.samples() > 0) {
            entry.addAll(List.of(ReportKeys.SAMPLES, Long.toString(measurement.samples())));
        }
        publish(entry.toArray(String[]::new));
    }

    /**
     * Report a number of no particular kind. Runs are not compared by it: {@link #measurement(Measurement)} tells what it is.
     *
     * @param name what was measured; neither null nor empty
     * @param value the finite number
     * @param unit its unit, for example {@code us} or {@code count}; neither null nor empty
     * @throws IllegalArgumentException if the number is infinite or not a number
     */
    public void measurement(String name, double value, String unit) {
        publish(ReportKeys.MEASUREMENT, name, ReportKeys.VALUE, decimal(name, value), ReportKeys.UNIT, unit);
    }

    /**
     * Report that this many bytes were compared one by one. The numbers of a test add up.
     *
     * @param bytes at least 0
     * @throws IllegalArgumentException if the number is negative
     */
    public void bytesVerified(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("bytes verified: " + bytes + " is negative");
        }
        publish(ReportKeys.BYTES_VERIFIED, Long.toString(bytes));
    }

    /**
     * Report a histogram of times, of which less is better. Its minimum, its maximum and the percentiles that its samples
     * {@linkplain Measurement#supports support} become measurements of the test in microseconds. It is copied; the caller may go
     * on recording.
     *
     * @param name what was measured; neither null nor empty
     * @param nanos the times in nanoseconds; never null
     */
    public void latency(String name, Histogram nanos) {
        histogram(name, "ns", Measurement.Better.LOWER, nanos);
    }

    /**
     * Report a histogram of values of which neither more nor less is better. It is copied; the caller may go on recording.
     *
     * @param name what was measured; neither null nor empty
     * @param unit the unit of the recorded values; neither null nor empty
     * @param histogram the histogram; never null
     */
    public void histogram(String name, String unit, Histogram histogram) {
        histogram(name, unit, Measurement.Better.NEITHER, histogram);
    }

    private void histogram(String name, String unit, Measurement.Better better, Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        byte[] data = new byte[length];
        buffer.get(0, data);
        publish(
                ReportKeys.HISTOGRAM,
                name,
                ReportKeys.UNIT,
                unit,
                ReportKeys.BETTER,
                better.toString(),
                ReportKeys.HISTOGRAM_DATA,
                Base64.getEncoder().encodeToString(data));
    }

    /**
     * Report a point of a throughput curve.
     *
     * @param series which curve; neither null nor empty
     * @param bytes the size of one transfer, at least 0
     * @param gigabitsPerSecond the finite payload rate in 10<sup>9</sup> bit/s
     * @throws IllegalArgumentException if a number is out of range
     */
    public void throughput(String series, long bytes, double gigabitsPerSecond) {
        if (bytes < 0) {
            throw new IllegalArgumentException(series + ": size " + bytes + " is negative");
        }
        publish(
                ReportKeys.THROUGHPUT,
                series,
                ReportKeys.SIZE,
                Long.toString(bytes),
                ReportKeys.VALUE,
                decimal(series, gigabitsPerSecond));
    }

    /**
     * Attach a text to the test.
     *
     * @param name the attachment's name; neither null nor empty
     * @param mediaType its media type, for example {@code text/plain} or {@code image/svg+xml}; neither null nor empty
     * @param content the text; never null
     */
    public void attachment(String name, String mediaType, String content) {
        publish(
                ReportKeys.ATTACHMENT,
                name,
                ReportKeys.ATTACHMENT_TYPE,
                mediaType,
                ReportKeys.ATTACHMENT_DATA,
                content);
    }

    private void publish(String... keysAndValues) {
        Map<String, String> entry = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            String value = keysAndValues[i + 1];
            // JUnit refuses blank values with a message that does not say whose they are.
            if (value.isBlank()) {
                value = "(empty)";
            }
            entry.put(keysAndValues[i], value);
        }
        reporter.publishEntry(entry);
    }

    private static String decimal(String name, double value) {
        if (!Double.isFinite(value)) {
            throw new IllegalArgumentException(name + ": " + value + " is not a finite number");
        }
        return BigDecimal.valueOf(value).toPlainString();
    }
}
