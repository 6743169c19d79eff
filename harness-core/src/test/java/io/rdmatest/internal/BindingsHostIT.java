package io.rdmatest.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmatest.NativeLibraryException;
import io.rdmatest.internal.linux.NativeCalls;
import io.rdmatest.internal.linux.Numa;
import io.rdmatest.verbs.AddressHandleAttributes;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the bindings with what the C compiler says of the installed headers: every struct's size, every field's offset and size,
 * every constant.
 *
 * <p>Runs on the host's JVM, because layouts need no device and the compiler is there. Constants need {@code rdma_h}, which
 * opens the libraries when it is initialised; without them the test is skipped, as it is without compiler or headers.
 */
class BindingsHostIT {

    private static final CLayouts.Compiler CC = new CLayouts.Compiler(List.of("cc"), List.of());

    @Test
    void everyStructHasTheSizeAndTheFieldsThatTheCompilerSays(@TempDir Path folder) throws Exception {
        Map<String, Long> expected = CLayouts.structs();
        assertThat(expected.size()).as("sizes and offsets to compare").isGreaterThan(1100);
        assertThat(expected.keySet().stream().filter(name -> name.matches("sizeof\\((struct |union )?\\w+\\)")))
                .hasSize(95);

        Map<String, Long> actual = CLayouts.evaluate(CC, folder, expected.keySet());
        assertThat(actual.keySet()).containsExactlyElementsOf(expected.keySet());
        assertThat(CLayouts.differences(expected, actual)).isEmpty();
    }

    @Test
    void everyConstantHasTheValueThatTheCompilerSays(@TempDir Path folder) throws Exception {
        try {
            NativeCalls.requireLibraries();
        } catch (NativeLibraryException e) {
            abort("unsupported by the host: " + e.getMessage());
        }
        Map<String, Number> expected = CLayouts.boundConstants();
        assertThat(expected).hasSize(455);

        Map<String, Long> actual = CLayouts.evaluate(CC, folder, expected.keySet());
        // Headers that are older than the bindings lack a few; more than that would be a comparison of nothing.
        assertThat(actual).hasSizeGreaterThan(430);
        assertThat(CLayouts.differences(expected, actual)).isEmpty();
    }

    @Test
    void everyConstantWrittenByHandHasTheValueThatTheCompilerSays(@TempDir Path folder) throws Exception {
        Map<String, Number> expected = new LinkedHashMap<>(CLayouts.ownConstants());
        expected.put("SYS_mbind", Numa.mbind());

        Map<String, Long> actual = CLayouts.evaluate(CC, folder, expected.keySet());
        assertThat(actual)
                .containsKeys(
                        "ENODATA", "SOL_PACKET", "MPOL_BIND", "NETLINK_RDMA", "MSG_DONTWAIT", "POLLIN", "SYS_mbind");
        assertThat(CLayouts.differences(expected, actual)).isEmpty();
    }

    /** The inline function of infiniband/verbs.h that this project has in Java. */
    @Test
    void flowLabelsGiveThePortsThatRdmaCoreSays(@TempDir Path folder) throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        for (int label = 0; label < 1 << 20; label += 4099) {
            expected.put(
                    "ibv_flow_label_to_udp_sport(" + label + ")", (long) AddressHandleAttributes.udpSourcePort(label));
        }
        assertThat(CLayouts.evaluate(CC, folder, expected.keySet())).isEqualTo(expected);
    }
}
