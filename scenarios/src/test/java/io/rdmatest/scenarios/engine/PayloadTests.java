package io.rdmatest.scenarios.engine;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.PeerPlan;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class PayloadTests {

    /** The datum of a connection's message is no number that anybody who counts messages would find. */
    @Test
    void aWrongByteIsToldOfTheMessageAsItIsCounted() {
        long datum = PeerPlan.payload(1, 10, 5, true);
        MemorySegment buffer = MemorySegment.ofArray(new byte[100]);
        Payload.fill(buffer, datum);
        assertThatNoException().isThrownBy(() -> Payload.verify(buffer, datum, 5, "connection 1"));

        Fault.flip(buffer);

        assertThatExceptionOfType(PayloadMismatchError.class)
                .isThrownBy(() -> Payload.verify(buffer, datum, 5, "connection 1"))
                .withMessageStartingWith("connection 1, message 5: wrong byte at offset 50");
    }
}
