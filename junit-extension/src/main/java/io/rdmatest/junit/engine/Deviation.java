package io.rdmatest.junit.engine;

import io.rdmatest.ReportKeys;
import io.rdmatest.junit.DeviationKey;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One thing that a device is known to do differently.
 *
 * @param source file and line
 * @param key what {@link DeviationKey} says of the tests; null if they are named by {@code test}
 * @param test a pattern of class and method; null if they are named by {@code key}
 * @param name a pattern of the display name of an invocation; null for all
 * @param provider what the whole name of the kernel driver looks like
 * @param kernel the releases of the kernel that have it
 * @param rdmaCore the releases of rdma-core that have it
 * @param expect what is to happen with the test
 * @param message what the failure says; null if the test is not run
 * @param reason what the device does differently
 * @param link where more is to be read about it
 */
record Deviation(
        String source,
        @Nullable String key,
        @Nullable String test,
        @Nullable String name,
        Pattern provider,
        Range kernel,
        Range rdmaCore,
        Expect expect,
        @Nullable Pattern message,
        String reason,
        String link) {

    /** What is to happen with a test that meets a deviation. */
    enum Expect {
        FAILURE,
        SKIP;

        @Override
        public String toString() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /**
     * Some releases.
     *
     * @param min the first; null for any
     * @param max the last, with all that it stands for; null for any
     */
    record Range(@Nullable Release min, @Nullable Release max) {

        static final Range ANY = new Range(null, null);

        boolean includes(Release release) {
            return (min == null || release.compareTo(min) >= 0) && (max == null || !max.isBefore(release));
        }
    }

    /**
     * Where tests run.
     *
     * @param driver the kernel driver
     * @param kernel the kernel's release
     * @param rdmaCore the release of rdma-core
     */
    record Platform(String driver, Release kernel, Release rdmaCore) {}

    /**
     * A test, as far as deviations know it.
     *
     * @param keys what the annotations on it and its classes say
     * @param test class and method, {@code package.Class#method}
     * @param name the display name
     */
    record Subject(java.util.Set<String> keys, String test, String name) {}

    boolean isOf(Platform platform) {
        return provider.matcher(platform.driver()).matches()
                && kernel.includes(platform.kernel())
                && rdmaCore.includes(platform.rdmaCore());
    }

    boolean concerns(Subject subject) {
        boolean named = key != null ? subject.keys().contains(key) : test != null && glob(test, subject.test());
        return named && (name == null || glob(name, subject.name()));
    }

    /** Tells whether a failure is the known one. */
    boolean explains(Throwable failure) {
        return expect == Expect.FAILURE
                && message != null
                && message.matcher(String.valueOf(failure.getMessage())).find();
    }

    private static boolean glob(String pattern, String text) {
        String expression =
                Arrays.stream(pattern.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*"));
        return Pattern.compile(expression, Pattern.DOTALL).matcher(text).matches();
    }

    /** Returns what the deviation is called. */
    String title() {
        return key != null ? key : String.valueOf(test);
    }

    /** Says it for a reason. */
    String words() {
        return reason + " (" + link + "; " + source + ")";
    }

    Map<String, String> entry(String outcome) {
        Map<String, String> entry = new LinkedHashMap<>();
        entry.put(ReportKeys.DEVIATION, title());
        entry.put(ReportKeys.DEVIATION_OUTCOME, outcome);
        entry.put(ReportKeys.DEVIATION_REASON, reason);
        entry.put(ReportKeys.DEVIATION_LINK, link);
        entry.put(ReportKeys.DEVIATION_SOURCE, source);
        return entry;
    }
}
