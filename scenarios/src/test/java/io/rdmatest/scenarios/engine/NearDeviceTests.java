package io.rdmatest.scenarios.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A thread goes where sysfs says that the device is, and back. */
class NearDeviceTests {

    @TempDir
    private Path devices;

    private BitSet before = new BitSet();

    @BeforeEach
    void look() {
        before = ProcessorBinding.allowed();
    }

    @AfterEach
    void theThreadIsBack() {
        assertThat(ProcessorBinding.allowed()).isEqualTo(before);
    }

    private void device(String node, String processors) throws IOException {
        Path attributes = Files.createDirectories(devices.resolve("mlx5_0/device"));
        Files.writeString(attributes.resolve("numa_node"), node + "\n");
        Files.writeString(attributes.resolve("local_cpulist"), processors + "\n");
    }

    @Test
    void aThreadRunsOnTheProcessorsOfTheDevicesNode() throws IOException {
        int last = before.length() - 1;
        // The last one and those after it, which are not there or may not be used.
        device("3", last + "-" + (last + 2) + ",8000");

        try (NearDevice near = NearDevice.begin(devices, "mlx5_0")) {
            assertThat(near.node()).hasValue(3);
            assertThat(ProcessorBinding.allowed().stream()).containsExactly(last);
        }
    }

    @Test
    void memoryAloneIsNearWhereTheProcessorsMayNotBeUsed() throws IOException {
        device("0", "8000-8191");

        try (NearDevice near = NearDevice.begin(devices, "mlx5_0")) {
            assertThat(near.node()).hasValue(0);
            assertThat(ProcessorBinding.allowed()).isEqualTo(before);
        }
    }

    @ParameterizedTest
    @CsvSource({"-1, 0", "'', 0", "x, 0", "0, x", "0, 3-1", "0, '0,'"})
    void nothingChangesWhereNoNodeIsKnown(String node, String processors) throws IOException {
        device(node, processors);

        try (NearDevice near = NearDevice.begin(devices, "mlx5_0")) {
            assertThat(near.node()).isEmpty();
            assertThat(ProcessorBinding.allowed()).isEqualTo(before);
        }
    }

    @Test
    void nothingChangesForADeviceOfSoftware() {
        try (NearDevice near = NearDevice.begin(devices, "rxe0")) {
            assertThat(near.node()).isEmpty();
            assertThat(ProcessorBinding.allowed()).isEqualTo(before);
        }
    }

    @Test
    void aRefusalLeavesTheThreadWhereItIs() {
        BitSet absent = new BitSet();
        absent.set(ProcessorBinding.MOST - 1);

        assertThatThrownBy(() -> ProcessorBinding.to(absent))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("processor 8191 (taskset, cpuset)");
    }
}
