package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.acceptance.Machines.Ended;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code .ci/run} makes of the test plugins' reports; Maven only says how it ended. */
class CiScriptTests {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    /** Runs it over reports that have these skipped tests, as an aborted test is written by the plugins. */
    private Ended run(int maven, String surefire, String failsafe) throws Exception {
        Path project = Files.createDirectories(folder.resolve("project"));
        Path script = Files.createDirectories(project.resolve(".ci")).resolve("run");
        Files.copy(
                Machines.PROJECT.resolve(".ci/run"),
                script,
                StandardCopyOption.COPY_ATTRIBUTES,
                StandardCopyOption.REPLACE_EXISTING);
        report(project, "surefire", surefire);
        report(project, "failsafe", failsafe);
        Path bin = Files.createDirectories(folder.resolve("bin"));
        Path mvn = Files.writeString(bin.resolve("mvn"), "#!/bin/sh\necho \"mvn $*\"\nexit " + maven + "\n");
        Files.setPosixFilePermissions(mvn, PosixFilePermissions.fromString("rwxr-xr-x"));
        return Machines.run(
                List.of(script.toString()),
                folder.resolve("said"),
                LIMIT,
                Map.of("PATH", bin + ":" + System.getenv("PATH")));
    }

    private static void report(Path project, String plugin, String skipped) throws IOException {
        Path reports = Files.createDirectories(project.resolve("module/target/" + plugin + "-reports"));
        Files.writeString(reports.resolve("TEST-Some.xml"), """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuite version="3.0" name="Some" time="1.0" tests="3" errors="0" skipped="1" failures="0" flakes="0">
                  <testcase name="one" classname="Some" time="0.1">
                    %s
                  </testcase>
                </testsuite>
                """.formatted(skipped));
    }

    private static String aborted(String reason) {
        return "<skipped type=\"org.opentest4j.TestAbortedException\"><![CDATA[org.opentest4j.TestAbortedException: "
                + reason + "\n\tat io.rdmatest.scenarios.PairScenarios.measure(PairScenarios.java:56)]]></skipped>";
    }

    private static String disabled(String reason) {
        return "<skipped message=\"" + reason + "\"/>";
    }

    @Test
    void itCallsMavenAndAddsUpWhatWasSkippedAndWhy() throws Exception {
        Ended ended = run(
                0,
                disabled("tshark is not installed here"),
                aborted("unsupported by the kernel: rdma_bind_addr(cm-id 573 IPOIB) failed"));

        assertThat(ended.output().lines())
                .containsExactly(
                        "mvn --batch-mode --no-transfer-progress -Pfull -Dtest.excluded=systems | more-systems | four-nodes | soak verify",
                        "surefire: Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Flakes: 0",
                        "failsafe: Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Flakes: 0",
                        "surefire: skipped: 1: tshark is not installed here",
                        "failsafe: skipped: 1: unsupported by the kernel: rdma_bind_addr(cm-id IPOIB) failed",
                        "slow: 1.0 Some",
                        "slow: 1.0 Some");
        assertThat(ended.status()).isZero();
    }

    @Test
    void anAbsentPeerInTheMachineFailsIt() throws Exception {
        Ended ended = run(0, "", aborted("peer absent: rping is not installed (Debian: rdmacm-utils)"));

        assertThat(ended.output())
                .contains("installs what they need:\n"
                        + "failsafe: skipped: 1: peer absent: rping is not installed (Debian: rdmacm-utils)\n");
        assertThat(ended.status()).isOne();
    }

    @Test
    void aPeerThatTheSetUpDoesNotInstallMayBeAbsentOutside() throws Exception {
        Ended ended = run(0, aborted("peer absent: the man page rping(1) is not installed"), "");

        assertThat(ended.output())
                .contains("surefire: skipped: 1: peer absent: the man page rping(1) is not installed\n")
                .doesNotContain("installs what they need");
        assertThat(ended.status()).isZero();
    }

    @Test
    void theStatusOfMavenStays() throws Exception {
        assertThat(run(3, "", "").status()).isEqualTo(3);
        assertThat(run(3, "", aborted("peer absent: rping is not installed")).status())
                .isEqualTo(3);
    }
}
