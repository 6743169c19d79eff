package io.rdmatest;

/**
 * The keys of the report entries that a test publishes through JUnit, for listeners to read. One entry is one fact: the
 * first key names its kind, the others belong to it.
 */
public final class ReportKeys {

    /** A step of the test; the value is its name. Comes with {@link #STEP_EVENT}. */
    public static final String STEP = "rdma.step";

    /** What happened to the step: {@link #START}, {@link #PASSED}, {@link #FAILED} or {@link #BROKEN}. */
    public static final String STEP_EVENT = "rdma.step.event";

    /** Why the step failed or broke; present only then. */
    public static final String STEP_MESSAGE = "rdma.step.message";

    /** Value of {@link #STEP_EVENT}: the step begins. Steps nest. */
    public static final String START = "start";

    /** Value of {@link #STEP_EVENT}: the step ended well. */
    public static final String PASSED = "passed";

    /** Value of {@link #STEP_EVENT}: the fabric did not do what the step demanded. */
    public static final String FAILED = "failed";

    /** Value of {@link #STEP_EVENT}: the harness, the host or the test itself could not carry out the step. */
    public static final String BROKEN = "broken";

    /** A parameter of the test; the value is its name. Comes with {@link #VALUE}. */
    public static final String PARAMETER = "rdma.parameter";

    /**
     * The last words of a parameter's name whose text says how much of the test was left out by request. The outcome of the run
     * tells it.
     */
    public static final String LEFT_OUT_BY_REQUEST = "left out";

    /**
     * A label, which places the test in the report's trees; the value is its name, as a rule {@code parentSuite},
     * {@code suite} or {@code subSuite}. Comes with {@link #VALUE}. The last one of a name counts. Tests that have all three
     * make up a matrix: one for each parent suite, with a row for each suite and sub-suite.
     */
    public static final String LABEL = "rdma.label";

    /**
     * A measured number; the value is its name. Comes with {@link #VALUE} and {@link #UNIT}, and as a rule with {@link #KIND},
     * {@link #BETTER} and {@link #SAMPLES}. Without a kind, runs are not compared by it.
     */
    public static final String MEASUREMENT = "rdma.measurement";

    /** What a measured number is: a {@link Measurement.Kind} in lower case. */
    public static final String KIND = "rdma.kind";

    /** The direction in which a measured number improves: a {@link Measurement.Better} in lower case. */
    public static final String BETTER = "rdma.better";

    /** How many samples a measured number was computed from: a whole number; absent if it is not known. */
    public static final String SAMPLES = "rdma.samples";

    /** Which percentile a measured number is, 0 to 100; present if that is its {@link #KIND}. */
    public static final String PERCENTILE = "rdma.percentile";

    /** The text of a parameter or label, or a decimal number with a point. */
    public static final String VALUE = "rdma.value";

    /** The unit of a number: {@code us}, {@code ns}, {@code Gb/s}, {@code count}, {@code B} and the like. */
    public static final String UNIT = "rdma.unit";

    /** A number of bytes that were compared one by one; the entries of a test add up. */
    public static final String BYTES_VERIFIED = "rdma.bytesVerified";

    /** A histogram; the value is its name. Comes with {@link #UNIT}, {@link #BETTER} and {@link #HISTOGRAM_DATA}. */
    public static final String HISTOGRAM = "rdma.histogram";

    /** Base64 of what HdrHistogram's {@code encodeIntoCompressedByteBuffer} writes. */
    public static final String HISTOGRAM_DATA = "rdma.histogram.data";

    /** A point of a throughput curve; the value names the series. Comes with {@link #SIZE} and {@link #VALUE} in Gb/s. */
    public static final String THROUGHPUT = "rdma.throughput";

    /** The size of a transfer in bytes. */
    public static final String SIZE = "rdma.size";

    /**
     * Counters of the device that tell of repetitions or errors and that grew during the test, such as
     * {@code out_of_seq_request +2}. All users of the device move them.
     */
    public static final String COUNTERS = "rdma.counters";

    /** The device that the test ran on, for example {@code rxe0}. */
    public static final String DEVICE = "rdma.device";

    /**
     * What begins the keys of the environment, many of them in one entry: {@code kernel}, {@code rdma-core}, {@code device},
     * {@code driver}, {@code firmware}, {@code port}, {@code linkLayer}, {@code rate}, {@code mtu}, {@code gidIndex},
     * {@code gidValue}, {@code gidType}, {@code netdev}, {@code address}, {@code fabric}, {@code java}, {@code host},
     * and of a node with rails {@code rail}.
     */
    public static final String ENVIRONMENT_PREFIX = "rdma.environment.";

    /**
     * The fact of the environment that only a virtual machine of the project has: the name of its node. Nothing that happens there
     * says anything about a fabric.
     */
    public static final String MACHINE = "machine";

    /** An attachment; the value is its name. Comes with {@link #ATTACHMENT_TYPE} and {@link #ATTACHMENT_DATA}. */
    public static final String ATTACHMENT = "rdma.attachment";

    /** The media type of the attachment, for example {@code text/plain}. */
    public static final String ATTACHMENT_TYPE = "rdma.attachment.type";

    /** The text of the attachment. */
    public static final String ATTACHMENT_DATA = "rdma.attachment.data";

    /** What a source of parameters was asked for and does not test on this host, and why. */
    public static final String LEFT_OUT = "rdma.left-out";

    /**
     * A known deviation that applies to the test; the value is its key, or the pattern of its tests. Comes with
     * {@link #DEVIATION_OUTCOME}, {@link #DEVIATION_REASON}, {@link #DEVIATION_LINK} and {@link #DEVIATION_SOURCE}.
     */
    public static final String DEVIATION = "rdma.deviation";

    /** What came of it: {@link #FAILED_AS_KNOWN}, {@link #PASSED_UNEXPECTEDLY} or {@link #NOT_RUN}. */
    public static final String DEVIATION_OUTCOME = "rdma.deviation.outcome";

    /** Value of {@link #DEVIATION_OUTCOME}: the test failed as the file says, and counts as skipped. */
    public static final String FAILED_AS_KNOWN = "failed as known";

    /** Value of {@link #DEVIATION_OUTCOME}: the test passed, so that the file's entry is to be looked at. */
    public static final String PASSED_UNEXPECTEDLY = "passed unexpectedly";

    /** Value of {@link #DEVIATION_OUTCOME}: the file says not to run the test on this device. */
    public static final String NOT_RUN = "not run";

    /** What the device does differently. */
    public static final String DEVIATION_REASON = "rdma.deviation.reason";

    /** Where more is to be read about it. */
    public static final String DEVIATION_LINK = "rdma.deviation.link";

    /** The file and line that the deviation is from. */
    public static final String DEVIATION_SOURCE = "rdma.deviation.source";

    /**
     * How many tests and classes the extension skipped in the run; an entry of the run, with one more key for each class of
     * reason: {@code rdma.skipped.not permitted} and the like.
     */
    public static final String SKIPPED = "rdma.skipped";

    /**
     * Why the test failed or is broken: the name of a {@link io.rdmatest.Cause}. Of several entries of a test the first
     * counts.
     */
    public static final String CAUSE = "rdma.cause";

    private ReportKeys() {}
}
