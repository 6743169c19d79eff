package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/** The machine as the user of {@code in-vm} and {@code java} meets it. */
@Tag("machines")
@DisabledIf(
        value = "isQemuMissingBesideADevice",
        disabledReason = "not selected: this host has an active RDMA device and no QEMU")
@Timeout(value = 4, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VirtualMachineHostIT {

    @TempDir
    Path work;

    private Scripts scripts;

    /** Where the set-up brings no machine, since a device is active. A host that should have one and has none fails. */
    static boolean isQemuMissingBesideADevice() {
        return Files.isDirectory(Path.of("/sys/class/infiniband"))
                && Stream.of(System.getenv("PATH").split(":"))
                        .noneMatch(folder -> Files.isExecutable(Path.of(folder, "qemu-system-x86_64")));
    }

    @BeforeEach
    void createScripts() {
        scripts = new Scripts(work).with("RDMA_VM", "always");
    }

    @Test
    void theDeviceHasTheNameThatIsAskedFor() throws Exception {
        scripts.with("RDMA_VM_DEVICE", "mlx5_0").with("RDMA_VM_SNAPSHOT", "0");

        assertThat(scripts.inVm("ls", "/sys/class/infiniband").out()).asString().isEqualTo("mlx5_0\n");

        Result wrong = scripts.with("RDMA_VM_DEVICE", "mlx5/0").inVm("true");
        assertThat(wrong.status()).isEqualTo(125);
        assertThat(wrong.err())
                .contains(
                        "RDMA_VM_DEVICE=mlx5/0 is no name of a device; it takes letters, digits, '_' and '-', such as mlx5_0");
    }

    @Test
    void binaryStreamsPassExactly() throws Exception {
        byte[] data = new byte[3_000_000];
        new Random(1).nextBytes(data);

        Result result = scripts.input(data).inVm("sh", "-c", "tee /dev/stderr | cat");

        assertThat(result.status()).isZero();
        assertThat(result.out()).isEqualTo(data);
        assertThat(result.errors()).isEqualTo(data);
    }

    @Test
    void argumentsEnvironmentDirectoryAndStatusPassExactly() throws Exception {
        scripts.with("ODD", " two  words\n\"and' lines ");

        Result result = scripts.inVm(
                "sh",
                "-c",
                "printf '<%s>' \"$@\" \"$ODD\" \"$PWD\" \"$RDMA_NODE\"; exit 7",
                "sh",
                "a b",
                "",
                "q\"'$x",
                "l1\nl2\n",
                "*");

        assertThat(result.text())
                .isEqualTo("<a b><><q\"'$x><l1\nl2\n><*>< two  words\n\"and' lines ><" + work.toRealPath() + "><a>");
        assertThat(result.status()).isEqualTo(7);
    }

    @Test
    void deviceIsActiveWithGidsOfBothFamilies() throws Exception {
        Result result = scripts.inVm(
                "sh", "-c", "cd /sys/class/infiniband/rxe0/ports/1; cat state; grep -h . gids/*; ibv_devinfo");

        assertThat(result.text())
                .contains(
                        "4: ACTIVE",
                        "0000:0000:0000:0000:0000:ffff:0a4d:0001",
                        "fd77:0000:0000:0000:0000:0000:0000:0001")
                .containsPattern("active_mtu:\\s+4096");
    }

    /** With these, 64 KiB took soft-RoCE twice as long. */
    @Test
    void theEmulatedProcessorIsNotToldToUseWhatEmulatesSlowly() throws Exception {
        scripts.with("RDMA_VM_ACCEL", "tcg");

        Result result = scripts.inVm("cat", "/proc/cpuinfo", "/proc/crypto");

        assertThat(result.text())
                .containsPattern("flags\\s*:.* avx2 ")
                .doesNotContainPattern("flags\\s*:.* (erms|fsrm|v?pclmulqdq)\\b")
                .contains("crc32-generic")
                .doesNotContain("crc32-pclmul");
    }

    @Test
    void javaIsTheSameForAProgramThatRunsInTheMachine() throws Exception {
        Result result = scripts.inVm(
                "env",
                "RDMA_VM=never",
                Scripts.HOME.resolve("bin/java").toString(),
                "-XX:+PrintFlagsFinal",
                "-version");

        assertThat(result.text())
                .containsPattern("TieredStopAtLevel\\s+= 1 ")
                .containsPattern("RangeCheckElimination\\s+= false ")
                .containsPattern("DisableIntrinsic\\s+= _Preconditions_checkIndex,_Preconditions_checkLongIndex ");
    }

    @Test
    void deathBySignalIsReportedAsAShellWould() throws Exception {
        assertThat(scripts.inVm("sh", "-c", "kill -SEGV $$").status()).isEqualTo(139);
    }

    @Test
    void missingCommandIsNamed() throws Exception {
        Result result = scripts.inVm("no-such-command");

        assertThat(result.status()).isEqualTo(127);
        assertThat(result.err()).contains("no-such-command");
    }

    @Test
    void signalsReachTheCommand() throws Exception {
        Process process = scripts.start(
                "in-vm",
                "--",
                "sh",
                "-c",
                "trap 'exit 41' TERM; trap 'echo int' INT; echo up; while :; do sleep 0.1; done");
        try (BufferedReader output = process.inputReader()) {
            assertThat(output.readLine()).isEqualTo("up");
            signal("INT", process.pid());
            assertThat(output.readLine()).isEqualTo("int");
            signal("TERM", process.pid());
            assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        }
        assertThat(process.exitValue()).isEqualTo(41);
    }

    @Test
    void nothingOutlivesAKilledParent() throws Exception {
        Process process = scripts.start("in-vm", "--", "sh", "-c", "echo up; sleep 300");
        try (BufferedReader output = process.inputReader()) {
            assertThat(output.readLine()).isEqualTo("up");
            ProcessHandle qemu = qemuOf(process);
            process.destroyForcibly();
            await().atMost(Duration.ofSeconds(20))
                    .until(() -> commandLine(qemu.pid()).isEmpty());
        }
    }

    @Test
    void deathOfTheMachineEndsTheCallAtOnceWithAMessage() throws Exception {
        Process process = new ProcessBuilder(
                        Scripts.HOME.resolve("bin/in-vm").toString(), "--", "sh", "-c", "echo up; sleep 300")
                .directory(work.toFile())
                .start();
        try (BufferedReader output = process.inputReader();
                BufferedReader errors = process.errorReader()) {
            assertThat(output.readLine()).isEqualTo("up");
            qemuOf(process).destroyForcibly();
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
            assertThat(errors.readLine()).contains("killed by signal 9 while the command ran");
        }
        assertThat(process.exitValue()).isEqualTo(125);
    }

    @Test
    void bootFailureSaysWhyWithTheConsole() throws Exception {
        Result result = scripts.with("RDMA_VM_APPEND", "rdinit=/bin/false root=/dev/nowhere")
                .with("RDMA_VM_SNAPSHOT", "0")
                .inVm("true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("ended", "Kernel panic");
    }

    @Test
    void bootThatTakesTooLongIsGivenUp() throws Exception {
        Result result = scripts.with("RDMA_VM_BOOT_TIMEOUT", "1")
                .with("RDMA_VM_SNAPSHOT", "0")
                .inVm("true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("did not come up within 1 s");
    }

    @Test
    void missingQemuIsNamedWithTheRemedy() throws Exception {
        Result result = scripts.with("RDMA_VM_QEMU", "qemu-no-such").inVm("true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("qemu-no-such").contains("bin/setup");
    }

    @Test
    void memlockLimitHoldsForTheCommand() throws Exception {
        Result result =
                scripts.with("RDMA_VM_MEMLOCK", "64").inVm("sh", "-c", "ulimit -l; grep CapEff /proc/self/status");

        assertThat(result.text()).startsWith("64\n").matches("(?s).*CapEff:\\s+[0-9a-f]{12}[0-9a-f]{4}\n");
        long capabilities = Long.parseUnsignedLong(result.text().strip().replaceAll("(?s).*\\s", ""), 16);
        assertThat(capabilities & (1L << 14)).as("CAP_IPC_LOCK").isZero();
    }

    @Test
    void syncedFilesSurviveTheDeathOfTheMachine() throws Exception {
        Process process = scripts.start("in-vm", "--", "sh", "-c", "echo kept > kept; sync kept; echo up; sleep 300");
        try (BufferedReader output = process.inputReader()) {
            assertThat(output.readLine()).isEqualTo("up");
            qemuOf(process).destroyForcibly();
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(work.resolve("kept")).content(StandardCharsets.UTF_8).isEqualTo("kept\n");
    }

    @Test
    void readerThatGoesAwayEndsTheWriter() throws Exception {
        Process process = scripts.start("in-vm", "--", "yes");
        try (BufferedReader output = process.inputReader()) {
            assertThat(output.readLine()).isEqualTo("y");
        }
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).isEqualTo(128 + 13);
    }

    /** A host whose link is down: what the scripts find in its sysfs, which no test has made. */
    @Test
    void noMachineTakesThePlaceOfAPortThatIsDown() throws Exception {
        // Without what the machine says of itself, this is a host.
        String script = """
                rdma link show && ip link set eth0 down || exit 9
                unset RDMA_NODE RDMA_VM
                "$0/in-vm" -- echo here; echo "status $?"
                "$0/setup" --run; echo "status $?"
                """;

        Result result =
                scripts.inVm("sh", "-c", script, Scripts.HOME.resolve("bin").toString());

        assertThat(result.text()).endsWith("\nhere\nstatus 0\nstatus 3\n");
        assertThat(result.err())
                .contains(": rxe0/1 is DOWN; RDMA_VM=always starts a virtual machine all the same\n")
                .contains(
                        ": rxe0/1 is DOWN; to rehearse without hardware: RDMA_VM=always, or ./qualify --fabric microvm\n");
    }

    @Test
    void rpingRunsBetweenTwoNodes() throws Exception {
        // The server may listen only after the client's first try.
        String script = """
                on-node b sh -c 'echo node $RDMA_NODE; rping -s -a 10.77.0.2 -C 3' &
                tries=0
                until rping -c -a 10.77.0.2 -C 3 -v; do tries=$((tries + 1)); [ $tries -lt 50 ] || exit 1; done
                wait
                on-node b sh -c 'exit 9'
                echo status $?
                """;

        Result result = scripts.run("in-vm", "--nodes", "2", "--", "sh", "-c", script);

        assertThat(result.text()).contains("ping data: rdma-ping-2", "node b\n", "status 9\n");
        assertThat(result.status()).isZero();
    }

    @Test
    void javaPrintsFromTheMachine() throws Exception {
        Files.writeString(
                work.resolve("Hello.java"),
                "void main(String[] a) { IO.println(java.nio.file.Files.exists(java.nio.file.Path.of(\"/sys/class/infiniband/rxe0\")) + a[0]); }");

        Result result =
                scripts.with("RDMA_JAVA_HOME", System.getProperty("java.home")).run("java", "Hello.java", "x y");

        assertThat(result.text()).isEqualTo("truex y\n");
    }

    @Test
    void javaRunsOnTheFirstOfTwoMachinesAndReachesTheSecond() throws Exception {
        Files.writeString(
                work.resolve("Hello.java"),
                "void main() throws Exception { IO.println(System.getenv(\"RDMA_NODE\"));"
                        + " new ProcessBuilder(\"on-node\", \"b\", \"sh\", \"-c\", \"echo $RDMA_NODE\").inheritIO().start().waitFor(); }");

        Result result = scripts.with("RDMA_JAVA_HOME", System.getProperty("java.home"))
                .with("RDMA_VM_NODES", "2")
                .run("java", "Hello.java");

        assertThat(result.text()).isEqualTo("a\nb\n");
    }

    /** A switch connects more than two: each pair meets, also two of which neither is the first. */
    @Test
    void fourMachinesReachEachOther() throws Exception {
        Result result = scripts.run(
                "in-vm",
                "--nodes",
                "4",
                "--",
                "sh",
                "-c",
                "for n in a b c d; do for m in 1 2 3 4; do"
                        + " on-node $n perl -MIO::Socket::INET -e"
                        + " 'IO::Socket::INET->new(PeerAddr => shift, Timeout => 20) or die qq(no way)' 10.77.0.$m:77"
                        + " && echo $n-$m; done; done; on-node e true");

        assertThat(result.text().lines()).hasSize(16).contains("c-4", "d-2");
        assertThat(result.err()).contains("no node 'e'; there are at most a b c d");
    }

    private static void signal(String name, long pid) throws Exception {
        new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor();
    }

    private static ProcessHandle qemuOf(Process process) {
        try (Stream<ProcessHandle> children = process.children()) {
            List<ProcessHandle> qemu = children.filter(
                            child -> commandLine(child.pid()).contains("qemu-system"))
                    .toList();
            assertThat(qemu).hasSize(1);
            return qemu.getFirst();
        }
    }

    /** Empty for a process that is gone, or dead and not yet reaped by its new parent. */
    private static String commandLine(long pid) {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/cmdline"));
        } catch (IOException e) {
            return "";
        }
    }
}
