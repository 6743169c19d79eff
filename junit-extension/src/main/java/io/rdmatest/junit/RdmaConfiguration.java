package io.rdmatest.junit;

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
     * Whether what would be skipped fails instead: {@value}. {@code false} unless set. It covers the project's own
     * conditions and tests that abort; JUnit's {@code @Disabled} stays out of an extension's reach.
     */
    public static final String FAIL_ON_SKIP = "rdma.fail-on-skip";

    /**
     * How closely a test is checked for native objects it left behind: {@value}. {@code ledger} unless set: after each test
     * the harness's own ledger; {@code kernel}: moreover, after each class, the kernel's list of this process's objects as
     * {@code rdma resource show} prints it; {@code off}: not at all.
     */
    public static final String AUDIT = "rdma.audit";

    private RdmaConfiguration() {}
}
