package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.ProcessorBinding;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProcessorsTests {

    private static final Duration STEP = Duration.ofSeconds(60);

    /** The processors 0 to 3 are two cores, 0 with 2 and 1 with 3; 4 and 5 are one, as 6 and 7. */
    private static String core(int processor) {
        return processor < 4 ? "core " + processor % 2 : "core " + processor / 2;
    }

    private static Processors choose(String allowed, String near) {
        BitSet nearby = set(near);
        return Processors.choose(set(allowed), nearby::get, ProcessorsTests::core);
    }

    private static BitSet set(String digits) {
        BitSet set = new BitSet();
        digits.chars().forEach(digit -> set.set(digit - '0'));
        return set;
    }

    @ParameterizedTest
    @CsvSource({
        // Nothing is known of the device's node: the first two cores.
        "01234567, '', 0, 1",
        "4567, '', 4, 6",
        // There is but one core.
        "45, '', 4, 5",
        // Those near the device, if there are two.
        "01234567, 4567, 4, 6",
        "01234, 4567, 0, 1",
        "025, 25, 2, 5",
        "02, '', 0, 2"
    })
    void theEndsGetCoresOfTheirOwnNearTheDevice(String allowed, String near, int server, int client) {
        assertThat(choose(allowed, near)).isEqualTo(new Processors(server, client));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "3"})
    void fewerThanTwoAreNotEnough(String allowed) {
        assertThat(choose(allowed, "01234567")).isEqualTo(Processors.ANY);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "-1, 0", "0, -1", "0, 8192"})
    void twoProcessorsAreNeeded(int server, int client) {
        assertThatThrownBy(() -> new Processors(server, client))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("two processors");
    }

    @Test
    void aThreadIsBoundUntilTheEnd() {
        String before = ofThread();
        int last = ProcessorBinding.allowed().length() - 1;
        try (Processors.Binding ignored = new Processors.Binding(last)) {
            assertThat(ofThread()).isEqualTo(Integer.toString(last));
        }
        assertThat(ofThread()).isEqualTo(before);
    }

    @Test
    void aProcessorThatIsNotThereIsNamed() {
        String before = ofThread();
        assertThatThrownBy(() -> new Processors.Binding(8191))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("processor 8191");
        assertThat(ofThread()).isEqualTo(before);
    }

    @Test
    void aProgramIsBound() throws Exception {
        int last = ProcessorBinding.allowed().length() - 1;
        try (CProgram program = Processors.start(STEP, last, "grep", "Cpus_allowed_list", "/proc/self/status")) {
            program.awaitSuccess();
            assertThat(program.output()).isEqualTo("Cpus_allowed_list:\t" + last + "\n");
        }
    }

    @Test
    void everyProcessorThatMayBeUsedCanBeBoundTo() {
        BitSet allowed = ProcessorBinding.allowed();
        assertThat(allowed.cardinality()).isPositive();
        for (int processor : allowed.stream().toArray()) {
            try (Processors.Binding ignored = new Processors.Binding(processor)) {
                assertThat(ofThread()).isEqualTo(Integer.toString(processor));
            }
        }
    }

    @Test
    void neitherEndIsBoundToAny() throws Exception {
        String before = ofThread();
        try (Processors.Binding ignored = new Processors.Binding(Processors.ANY.server())) {
            assertThat(ofThread()).isEqualTo(before);
        }
        try (CProgram program = Processors.start(STEP, Processors.ANY.client(), "cat", "/proc/self/comm")) {
            program.awaitSuccess();
            assertThat(program.output()).isEqualTo("cat\n");
        }
    }

    @Test
    void aRoleRunsOnTheProcessorOfItsEnd() {
        int last = ProcessorBinding.allowed().length() - 1;
        Role<String> role = context -> {
            assertThat(context.isCancelled()).isTrue();
            return ofThread();
        };
        assertThat(Processors.on(last, role).run(new Cancelled())).isEqualTo(Integer.toString(last));
    }

    /** Has nothing but that one answer. */
    private static final class Cancelled implements RoleContext {

        @Override
        public FabricDevice device() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void tell(String message) {
            throw new UnsupportedOperationException();
        }

        @Override
        public String hear(String what, Duration timeout) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isCancelled() {
            return true;
        }
    }

    /** What the kernel says of the calling thread: a list of numbers. */
    private static String ofThread() {
        try {
            return Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
                    .filter(line -> line.startsWith("Cpus_allowed_list:"))
                    .findFirst()
                    .orElseThrow()
                    .substring("Cpus_allowed_list:".length())
                    .strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
