package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    @Test
    void deviceThatIsDownDoesNotCount() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("1: DOWN").toString())
                .with("RDMA_VM_CACHE", "/proc/no-cache-here");

        Result result = scripts.inVm("true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("cannot write in the cache /proc/no-cache-here");
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
