package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessorsTests {

    private static final Duration STEP = Duration.ofSeconds(60);

    /** The processors 0 to 3 are two cores, 0 with 2 and 1 with 3; 4 and 5 are one, as 6 and 7. */
    private static BitSet ofSameCore(int processor) {
        return Processors.list(
                processor < 4 ? processor % 2 + "," + (processor % 2 + 2) : processor < 6 ? "4-5" : "6-7");
    }

    @ParameterizedTest
    @CsvSource({
        // Nothing is known of the device's node: the first two cores.
        "0-7, '', 0, 1",
        "4-7, '', 4, 6",
        // There is but one core.
        "4-5, '', 4, 5",
        // Those near the device, if there are two.
        "0-7, 4-7, 4, 6",
        "0-4, 4-7, 0, 1",
        "'0,2,5', '2,5', 2, 5",
        "'0,2', '', 0, 2"
    })
    void theEndsGetCoresOfTheirOwnNearTheDevice(String allowed, String near, int server, int client) {
        assertThat(Processors.choose(Processors.list(allowed), Processors.list(near), ProcessorsTests::ofSameCore))
                .isEqualTo(new Processors(server, client));
    }

    @ParameterizedTest
    @CsvSource({"''", "3"})
    void fewerThanTwoAreNotEnough(String allowed) {
        assertThat(Processors.choose(Processors.list(allowed), Processors.list("0-7"), ProcessorsTests::ofSameCore))
                .isNull();
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "-1, 0", "0, 8192"})
    void twoProcessorsAreNeeded(int server, int client) {
        assertThatThrownBy(() -> new Processors(server, client))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("two processors");
    }

    @Test
    void aThreadIsBoundUntilTheEnd() {
        BitSet before = ofThread();
        int last = Processors.allowed().length() - 1;
        try (Processors.Binding ignored = new Processors.Binding(last)) {
            assertThat(ofThread()).isEqualTo(Processors.list(Integer.toString(last)));
        }
        assertThat(ofThread()).isEqualTo(before);
    }

    @Test
    void aProcessorThatIsNotThereIsNamed() {
        BitSet before = ofThread();
        assertThatThrownBy(() -> new Processors.Binding(8191))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("processor 8191");
        assertThat(ofThread()).isEqualTo(before);
        assertThat(Objects.requireNonNull(new Processors(0, 8191).hindrance())).contains("this process may use");
    }

    @Test
    void aProgramIsBound() throws Exception {
        int last = Processors.allowed().length() - 1;
        try (TimedProgram program =
                TimedProgram.polling(STEP, last, "grep", "Cpus_allowed_list", "/proc/self/status")) {
            long ignored = program.awaitSuccess();
            assertThat(program.output()).containsExactly("Cpus_allowed_list:\t" + last);
        }
    }

    @Test
    void everyProcessorThatMayBeUsedCanBeBoundTo() {
        BitSet allowed = Processors.allowed();
        assertThat(allowed.cardinality()).isPositive();
        for (int processor : allowed.stream().toArray()) {
            try (Processors.Binding ignored = new Processors.Binding(processor)) {
                assertThat(ofThread().stream()).containsExactly(processor);
            }
        }
    }

    @Test
    void aRoleRunsOnTheProcessorOfItsEnd() {
        int last = Processors.allowed().length() - 1;
        Role<BitSet> role = context -> {
            assertThat(context.isCancelled()).isTrue();
            return ofThread();
        };
        assertThat(new Processors(last, last + 1).ofServer(role).run(new Cancelled()).stream())
                .containsExactly(last);
        assertThat(new Processors(last + 1, last).ofClient(role).run(new Cancelled()).stream())
                .containsExactly(last);
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

    private static BitSet ofThread() {
        try {
            return Processors.list(Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
                    .filter(line -> line.startsWith("Cpus_allowed_list:"))
                    .findFirst()
                    .orElseThrow()
                    .substring("Cpus_allowed_list:".length()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
