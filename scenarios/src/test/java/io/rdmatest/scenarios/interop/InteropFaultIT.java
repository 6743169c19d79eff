package io.rdmatest.scenarios.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.role.DeliveryError;
import io.rdmatest.scenarios.role.Fault;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.ParameterDeclarations;

/**
 * One flipped bit must turn a cell red: where the C program verifies what we send, or we verify what it sent back.
 *
 * <p>That the same cells are green without it is shown by {@link InteropScenarios}, which a build runs with the same seed.
 */
@IgnoreCounters
@RdmaTest(timeout = "90 s")
@ResourceLock(RdmaTest.RSOCKET_LOCK)
@Tag("slow")
class InteropFaultIT {

    /** What rping -V and rstream -T v say of wrong data. */
    private static final Pattern TOLD_BY_PROGRAM = Pattern.compile("data mismatch|data verification failed");

    @ParameterizedTest(name = "{0}")
    @ArgumentsSource(VerifyingCells.class)
    void aFlippedByteIsNoticed(Cell cell, InteropMatrix matrix, FabricDevice device) {
        AssertionError noticed = null;
        try {
            LocalCell.run(cell, device, InteropScenarios.STEP, Fault.FLIP_PAYLOAD_BYTE, matrix.repeat());
        } catch (AssertionError e) {
            noticed = e;
        }
        assertThat(noticed)
                .as("%s passed although a byte was damaged. %s", cell, matrix.repeat())
                .isNotNull();
        // Whoever waits in vain, or is not there, has not noticed anything.
        Throwable cause = noticed.getCause();
        assertThat(cause instanceof PayloadMismatchError
                        || cause instanceof DeliveryError
                        || TOLD_BY_PROGRAM.matcher(noticed.getMessage()).find())
                .as("%s failed, but not by the damaged byte: %s", cell, noticed.getMessage())
                .isTrue();
    }

    static final class VerifyingCells implements ArgumentsProvider {

        @Override
        public Stream<? extends Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context) {
            InteropMatrix matrix = InteropMatrix.read(context::getConfigurationParameter);
            return matrix.cells().stream().filter(Cell::programVerifies).map(cell -> Arguments.of(cell, matrix));
        }
    }
}
