package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RemoteMemoryTests {

    private final RemoteMemory memory = new RemoteMemory(0x1000, 7, 4096);

    @Test
    void aPartHasItsAddressAndTheSameKey() {
        assertThat(memory.slice(64, 32)).isEqualTo(new RemoteMemory(0x1040, 7, 32));
        assertThat(memory.slice(4096, 0)).isEqualTo(new RemoteMemory(0x2000, 7, 0));
        assertThat(memory.slice(64, 32).slice(1, 31).address()).isEqualTo(0x1041);
    }

    @ParameterizedTest
    @CsvSource({"-1, 1", "0, 4097", "4096, 1", "1, -1", "1, 9223372036854775807"})
    void aPartIsWithin(long offset, long length) {
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> memory.slice(offset, length));
    }

    @Test
    void aLengthFitsAMessage() {
        assertThat(memory.messageLength()).isEqualTo(4096);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RemoteMemory(0, 7, 1L << 31).messageLength())
                .withMessage(
                        "the remote memory has 2147483648 bytes, and a message has at most 2147483647: take a slice of it");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RemoteMemory(0, 7, -1))
                .withMessageContaining("-1 is negative");
    }
}
