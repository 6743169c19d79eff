package io.rdmatest.report.run;

import java.nio.file.Path;

/** The system properties that the reporting side reads. */
public final class ReportConfiguration {

    /** The directory of the journals, one file per JVM; {@value #DEFAULT_DIRECTORY} if not set. */
    public static final String DIRECTORY = "rdma.report.directory";

    /** If {@code true}, every journal line is also printed to standard output, behind {@value #PROGRESS_PREFIX}. */
    public static final String PROGRESS = "rdma.report.progress";

    /** Where journals go unless {@link #DIRECTORY} says otherwise, relative to the working directory. */
    public static final String DEFAULT_DIRECTORY = "target/rdmatest-journal";

    /** What a line on standard output begins with if it is a journal line. */
    public static final String PROGRESS_PREFIX = "##rdmatest ";

    private ReportConfiguration() {}

    public static Path directory() {
        return Path.of(System.getProperty(DIRECTORY, DEFAULT_DIRECTORY)).toAbsolutePath();
    }

    public static boolean progress() {
        return Boolean.getBoolean(PROGRESS);
    }
}
