package io.rdmatest.internal.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ManagerFileTests {

    @TempDir
    private Path folder;

    @Test
    void aContainerWithADeviceOnlyLacksTheFileOfTheConnectionManager() throws Exception {
        Path devices = Files.createDirectories(folder.resolve("dev/infiniband"));
        Path sysfs = folder.resolve("sys");
        assertThat(ManagerFile.missing(devices, sysfs).orElseThrow())
                .contains("'modprobe rdma_ucm' as root")
                .doesNotContain("this container lacks");

        Files.createDirectories(sysfs.resolve("class/misc/rdma_cm"));
        assertThat(ManagerFile.missing(devices, sysfs))
                .hasValue("this container lacks " + devices.resolve("rdma_cm")
                        + ", which connections need: start it with --device " + devices.resolve("rdma_cm"));

        Files.createFile(devices.resolve("rdma_cm"));
        assertThat(ManagerFile.missing(devices, sysfs)).isEmpty();
    }

    /** Then the device is what is missing, and that is told. */
    @Test
    void aHostWithoutDeviceFilesHasNoneToLack() {
        assertThat(ManagerFile.missing(folder.resolve("dev/infiniband"), folder.resolve("sys")))
                .isEmpty();
    }
}
