package io.rdmatest.junit;

import io.rdmatest.fabric.FabricConfiguration;
import java.util.Set;

/**
 * The configuration keys of the extension. Each can stand in {@code junit-platform.properties}, be given as a system
 * property ({@code -Drdma.timeout=60s}), or as a configuration parameter of the launcher, for example in Surefire's
 * {@code configurationParameters}. A launcher's parameter wins over the system property, which wins over the file.
 */
public final class RdmaConfiguration {

    /**
     * The default bound of a test body and of each lifecycle method: {@value}. A duration such as {@code 30 s}; 30 s unless
     * set.
     */
    public static final String TIMEOUT = "rdma.timeout";

    /**
     * Whether tests are skipped where there is no RDMA device at all: {@value}. {@code false} unless set: a run that was to
     * qualify a fabric and found none is misconfigured, and fails.
     */
    public static final String SKIP_WITHOUT_DEVICE = "rdma.skip-without-device";

    /**
     * Whether a test needs a device even if it asks for nothing on it: {@value}. {@code true} unless set. With
     * {@code false} only the tests that ask for a device, or for something on it, fail without one.
     */
    public static final String REQUIRE_DEVICE = "rdma.require-device";

    /**
     * How a run treats skipped tests: {@value}. {@code allow} unless set: they are skipped with their reason;
     * {@code list}: moreover, at the end of the run, all of them are listed by class of reason, on the error stream and as a
     * report entry; {@code fail}: what the project's own conditions would skip, and tests that abort, fail with that reason.
     * JUnit's {@code @Disabled} and other projects' conditions are out of an extension's reach: in this mode they are listed
     * at the end.
     */
    public static final String SKIPS = "rdma.skips";

    /**
     * Files with known deviations of devices, in front of those that come with the project: {@value}. Paths of YAML files
     * with commas between them, looked for from the working directory upwards; {@code none} for no deviation at all, also
     * not the project's own. No file by default.
     */
    public static final String DEVIATIONS = "rdma.deviations";

    /**
     * How to treat a test that passes although a deviations file says that it fails: {@value}. {@code report} unless set:
     * it passes, publishes an entry, and is listed at the end of the run; {@code fail}: it fails.
     */
    public static final String STALE_DEVIATIONS = "rdma.deviations.stale";

    /**
     * How closely a test is checked for native objects it left behind, and for failed work that it did not notice: {@value}.
     * {@code ledger} unless set: after each test and each class the harness's own ledger; {@code kernel}: also the kernel's list
     * of this process's objects (rdma-resource(8)), unless the process is in a PID namespace of its own; {@code off}: not at all.
     * {@code ./qualify} sets {@code kernel}.
     */
    public static final String AUDIT = "rdma.audit";

    /**
     * How to treat a test that raised an error counter of its device: {@value}. {@code report} unless set: the growth
     * is published; {@code fail}: the test fails, unless {@link IgnoreCounters @IgnoreCounters} allows it or another test ran at
     * the same time; {@code off}: counters are read for the diagnosis of a failure only. {@code ./qualify} sets {@code fail}.
     * With {@code report}, a test still fails if the fabric file promises that the network is lossless.
     */
    public static final String COUNTERS = "rdma.counters";

    /** All of them, and the three of the fabric. */
    static final Set<String> KEYS = Set.of(
            TIMEOUT,
            SKIP_WITHOUT_DEVICE,
            REQUIRE_DEVICE,
            SKIPS,
            DEVIATIONS,
            STALE_DEVIATIONS,
            AUDIT,
            COUNTERS,
            FabricConfiguration.FABRIC,
            FabricConfiguration.RAIL,
            FabricConfiguration.DEVICE);

    private RdmaConfiguration() {}
}
