package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the scripts decide before any machine is started. */
class HostDecisionTests {

    @TempDir
    Path work;

    private Scripts scripts;

    @BeforeEach
    void createScripts() {
        scripts = new Scripts(work);
    }

    private Path sysfsWithDevice(String state) throws IOException {
        Path port = Files.createDirectories(work.resolve("sys/class/infiniband/fake0/ports/1"));
        Files.writeString(port.resolve("state"), state + "\n");
        return work.resolve("sys");
    }

    @Test
    void commandIsPlainlyExecutedWhereADeviceIsActive() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("4: ACTIVE").toString()).with("RDMA_VM_QEMU", "no-such-qemu");

        Result result = scripts.inVm("sh", "-c", "echo $RDMA_NODE here; exit 7");

        assertThat(result.status()).isEqualTo(7);
        assertThat(result.text()).isEqualTo("here\n");
        assertThat(result.err()).isEmpty();
    }

    @Test
    void javaIsPlainlyExecutedWhereADeviceIsActiveEvenIfJavaHomeIsTheDropInItself() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("4: ACTIVE").toString())
                .with("JAVA_HOME", Scripts.HOME.toString())
                .with("RDMA_JAVA_HOME", System.getProperty("java.home"));

        Result result = scripts.run("java", "-Xint", "-version");

        assertThat(result.status()).isZero();
        assertThat(result.err()).contains("25.");
    }

    @Test
    void secondNodeIsRefusedWhereADeviceIsActive() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("4: ACTIVE").toString());

        Result result = scripts.run("in-vm", "--nodes", "2", "--", "true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("--nodes 2").contains("fake0");
    }

    private void sysfs(String file, String content) throws IOException {
        Path path = work.resolve("sys").resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, content + "\n");
    }

    /** What is left in sysfs of RDMA hardware that does not work: no machine takes its place, and the reason is told once. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "class/infiniband/mlx5_0/ports/1/state | 1: DOWN | mlx5_0/1 is DOWN",
                "class/infiniband/mlx5_0/ports/1/state | 2: INIT | mlx5_0/1 is INIT",
                "class/infiniband/mlx5_0/node_type | 1: CA | mlx5_0 has no port",
                "bus/auxiliary/devices/mlx5_core.rdma.0/modalias | x | mlx5_core.rdma.0 has no RDMA device: its driver is not loaded",
                "bus/auxiliary/devices/mlx4_core.ib.0/modalias | x | mlx4_core.ib.0 has no RDMA device: its driver is not loaded",
                "bus/auxiliary/devices/ice.roce.1/modalias | x | ice.roce.1 has no RDMA device: its driver is not loaded",
                "bus/pci/devices/0000:3b:00.0/class | 0x020700 | 0000:3b:00.0 is an RDMA adapter without an RDMA device: load its driver",
                "bus/pci/devices/0000:3b:00.0/class | 0x020800 | 0000:3b:00.0 is an RDMA adapter without an RDMA device: load its driver",
            })
    void hardwareThatDoesNotWorkGetsNoMachine(String file, String content, String sign) throws Exception {
        sysfs(file, content);
        scripts.with("RDMA_VM_SYSFS", work.resolve("sys").toString()).with("RDMA_VM_QEMU", "no-such-qemu");

        Result result = scripts.inVm(Scripts.HOME.resolve("bin/in-vm").toString(), "--", "echo", "here");

        assertThat(result.status()).isZero();
        assertThat(result.text()).isEqualTo("here\n");
        assertThat(result.err())
                .startsWith("rdma-vm: no active RDMA port on ")
                .endsWith(": " + sign + "; RDMA_VM=always starts a virtual machine all the same\n")
                .hasLineCount(1);

        Result run = scripts.run("setup", "--run");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.text()).isEmpty();
        assertThat(run.err())
                .startsWith("rdma-vm: no active RDMA port on ")
                .endsWith(
                        ": " + sign + "; to rehearse without hardware: RDMA_VM=always, or ./qualify --fabric microvm\n")
                .hasLineCount(1);
    }

    /** A software device that was left on a host with dead hardware stands in for it only if it is named. */
    @Test
    void softwareDoesNotStandInForHardwareThatDoesNotWork() throws Exception {
        sysfs("class/infiniband/rxe0/ports/1/state", "4: ACTIVE");
        sysfs("class/infiniband/rxe0/parent", "eth0");
        sysfs("class/infiniband/siw0/ports/1/state", "1: DOWN");
        sysfs("class/infiniband/siw0/node_type", "4: RNIC");
        scripts.with("RDMA_VM_SYSFS", work.resolve("sys").toString());
        String refused = "no active RDMA port";
        assertThat(scripts.run("setup", "--check", "--run").err()).doesNotContain(refused);

        sysfs("class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
        Result run = scripts.run("setup", "--check", "--run");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err())
                .contains(refused, ": mlx5_0/1 is DOWN, rxe0 is software; to rehearse without hardware: ")
                .endsWith("; to rehearse on rxe0: ./qualify --device rxe0\n");
        assertThat(scripts.run("setup", "--check", "--run", "--device", "rxe0").err())
                .doesNotContain(refused);
        assertThat(scripts.run("setup", "--check", "--run", "--device", "siw0").err())
                .contains(refused);

        sysfs("class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE");
        assertThat(scripts.run("setup", "--check", "--run").err()).doesNotContain(refused);
    }

    /** Ethernet adapters, functions for other purposes, and modules that are loaded without any device are no signs. */
    @Test
    void hostWithoutHardwareGetsAMachine() throws Exception {
        sysfs("bus/pci/devices/0000:00:03.0/class", "0x020000");
        sysfs("bus/auxiliary/devices/mlx5_core.eth.0/modalias", "x");
        Files.createDirectories(work.resolve("sys/class/infiniband"));
        scripts.with("RDMA_VM_SYSFS", work.resolve("sys").toString()).with("RDMA_VM_CACHE", "/proc/no-cache-here");

        Result result = scripts.inVm("true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("cannot write in the cache /proc/no-cache-here");

        Result seen = scripts.run("setup", "--run", "--seen", "an earlier run was on mlx5_0");
        assertThat(seen.status()).isEqualTo(3);
        assertThat(seen.err()).contains(": an earlier run was on mlx5_0; to rehearse without hardware: ");
    }

    @Test
    void neverStartsNothing() throws Exception {
        Result result = scripts.with("RDMA_VM", "never").inVm("echo", "hi");

        assertThat(result.status()).isZero();
        assertThat(result.text()).isEqualTo("hi\n");
    }

    @Test
    void unknownOptionsAreNamed() throws Exception {
        assertThat(scripts.run("in-vm", "--wrong", "--", "true"))
                .returns(2, Result::status)
                .satisfies(r -> assertThat(r.err()).contains("--wrong"));
        assertThat(scripts.run("setup", "--wrong"))
                .returns(2, Result::status)
                .satisfies(r -> assertThat(r.err()).contains("--wrong"));
        assertThat(scripts.run("in-vm", "--nodes", "5", "--", "true"))
                .returns(2, Result::status)
                .satisfies(r -> assertThat(r.err()).contains("'5'"));
    }

    @Test
    void numbersOfMachinesThatThereCannotBeAreRefused() throws Exception {
        Result result = scripts.with("RDMA_VM_NODES", "5")
                .with("RDMA_JAVA_HOME", System.getProperty("java.home"))
                .run("java", "Main");

        assertThat(result.status()).isEqualTo(2);
        assertThat(result.err()).contains("RDMA_VM_NODES takes 1 to 4, not '5'");
    }

    @Test
    void wrongJavaHomeIsNamed() throws Exception {
        Result result = scripts.with("RDMA_JAVA_HOME", "/nowhere").run("java", "-version");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("RDMA_JAVA_HOME=/nowhere is not the home of a JDK 25 or later");
    }
}
