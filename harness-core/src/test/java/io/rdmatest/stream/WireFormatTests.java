package io.rdmatest.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.stream.StreamException.Reason;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WireFormatTests {

    private static final byte[] DATA =
            HexFormat.of().parseHex("00007f12345678f0" + "00000000deadbeef" + "00008000" + "0180" + "02" + "00");

    @Test
    void connectionDataIs24BytesInNetworkOrder() {
        ConnectionData data = new ConnectionData(0x7f12345678f0L, 0xdeadbeefL, 32768, 384);
        assertThat(data.encode()).isEqualTo(DATA);
        assertThat(ConnectionData.decode(DATA)).isEqualTo(data);
    }

    @Test
    void theSplitModeTellsOfTheSendRingInSixteenMoreBytes() {
        ConnectionData data = new ConnectionData(
                0x7f12345678f0L, 0xdeadbeefL, 32768, 384, new ConnectionData.SendRing(0x7f1234560000L, 0x12345));
        byte[] more = {'S', 'P', 'L', 'T', 0, 1, 0x23, 0x45, 0, 0, 0x7f, 0x12, 0x34, 0x56, 0, 0};
        byte[] all = Arrays.copyOf(DATA, 40);
        System.arraycopy(more, 0, all, 24, 16);
        assertThat(data.encode()).isEqualTo(all);
        assertThat(ConnectionData.decode(Arrays.copyOf(all, 56))).isEqualTo(data);
        // A part of it is nothing.
        assertThat(ConnectionData.decode(Arrays.copyOf(all, 39))).isEqualTo(ConnectionData.decode(DATA));
        for (byte[] size : new byte[][] {{0, 0, 0, 0}, {0, 16, 0, 0}, {-1, -1, -1, -1}}) {
            System.arraycopy(size, 0, all, 28, 4);
            assertRefused(all, Reason.BAD_CONNECTION_DATA, "send ring");
        }
    }

    @Test
    void onlyTheSplitModeGoesWithTheSplitMode() {
        ConnectionData plain = ConnectionData.decode(DATA);
        ConnectionData split = new ConnectionData(1, 1, 100, 100, new ConnectionData.SendRing(1, 100));
        plain.requireMode(StreamMode.IMMEDIATE);
        plain.requireMode(StreamMode.IWARP);
        split.requireMode(StreamMode.SPLIT);
        assertThatThrownBy(() -> plain.requireMode(StreamMode.SPLIT))
                .isInstanceOf(StreamException.class)
                .hasMessageContaining("does not use the mode SPLIT");
        for (StreamMode mode : new StreamMode[] {StreamMode.IMMEDIATE, StreamMode.IWARP}) {
            assertThatThrownBy(() -> split.requireMode(mode))
                    .isInstanceOf(StreamException.class)
                    .hasMessageContaining("uses the mode SPLIT, this side uses " + mode);
        }
    }

    @Test
    void wordsOfTheSplitModeAreNoControlMessages() {
        for (int length : new int[] {1, 16_384, 0xfffff}) {
            int pull = ControlWord.ofPull(length);
            int pulled = ControlWord.ofPulled(length);
            assertThat(pull).isEqualTo(0x20000000 | length);
            assertThat(pulled).isEqualTo(0x40000000 | length);
            assertThat(ControlWord.isPull(pull)).isTrue();
            assertThat(ControlWord.isPulled(pulled)).isTrue();
            assertThat(ControlWord.bytes(pull)).isEqualTo(length);
            assertThat(ControlWord.bytes(pulled)).isEqualTo(length);
            for (int word : new int[] {pull, pulled}) {
                assertThat(ControlWord.isControl(word)).isFalse();
                assertThat(ControlWord.isData(word)).isFalse();
            }
            assertThat(ControlWord.isPull(pulled)).isFalse();
            assertThat(ControlWord.isPulled(pull)).isFalse();
        }
        // With credits, with both marks, with that of the iWARP mode's data, and without any.
        for (int word : new int[] {0x20100001, 0x60000001, 0xa0000001, 0xc0000001, 1, 0}) {
            assertThat(ControlWord.isPull(word) || ControlWord.isPulled(word)).isFalse();
        }
    }

    @Test
    void takesNoNoticeOfTheReservedByteAndOfWhatFollows() {
        byte[] longer = Arrays.copyOf(DATA, 56);
        longer[23] = (byte) 0xa5;
        longer[40] = 1;
        assertThat(ConnectionData.decode(longer)).isEqualTo(ConnectionData.decode(DATA));
    }

    @Test
    void refusesAnotherVersionAndTooFewBytes() {
        for (int version : new int[] {0, 1, 3, 255}) {
            byte[] other = DATA.clone();
            other[22] = (byte) version;
            assertRefused(other, Reason.VERSION_MISMATCH, "version " + version);
        }
        assertRefused(Arrays.copyOf(DATA, 23), Reason.BAD_CONNECTION_DATA, "23 bytes");
        assertRefused(new byte[56], Reason.VERSION_MISMATCH, "version 0");
    }

    @ParameterizedTest
    @CsvSource({"0, 384", "1048576, 384", "-1, 384", "32768, 0", "32768, 2", "32768, 1024", "32768, 65535"})
    void refusesRingsAndQueuesThatControlMessagesCannotCount(int ring, int credits) {
        byte[] bad = new ConnectionData(0, 1, ring, credits).encode();
        assertRefused(bad, Reason.BAD_CONNECTION_DATA, ring == 32768 ? credits + " entries" : "bytes");
    }

    @Test
    void refusesAKeyThatVerbsCannotName() {
        assertRefused(new ConnectionData(0, 1L << 32, 100, 100).encode(), Reason.BAD_CONNECTION_DATA, "rkey");
    }

    private static void assertRefused(byte[] data, Reason reason, String text) {
        assertThatThrownBy(() -> ConnectionData.decode(data))
                .hasMessageContaining(text)
                .isInstanceOfSatisfying(
                        StreamException.class, e -> assertThat(e.reason()).isEqualTo(reason));
    }

    @Test
    void aControlWordHoldsBytesInBits0To19AndCreditsInBits20To28() {
        assertThat(ControlWord.of(1, 0)).isEqualTo(0x00000001);
        assertThat(ControlWord.of(0, 1)).isEqualTo(0x00100000);
        assertThat(ControlWord.of(16384, 192)).isEqualTo(0x0c004000);
        assertThat(ControlWord.of(0xfffff, 0x1ff)).isEqualTo(0x1fffffff);
        for (int word : new int[] {1, 0x00100000, 0x0c004000, 0x1fffffff}) {
            assertThat(ControlWord.isControl(word)).isTrue();
            assertThat(ControlWord.isData(word)).isFalse();
            assertThat(ControlWord.of(ControlWord.bytes(word), ControlWord.credits(word)))
                    .isEqualTo(word);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> ControlWord.of(1 << 20, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> ControlWord.of(0, 512));
        // It would be taken for data.
        assertThatIllegalArgumentException().isThrownBy(() -> ControlWord.of(0, 0));
    }

    @Test
    void bit31MarksDataInTheIwarpMode() {
        assertThat(ControlWord.ofData(0x1234)).isEqualTo(0x80001234);
        assertThat(ControlWord.isData(0x80001234)).isTrue();
        assertThat(ControlWord.dataBytes(0x80001234)).isEqualTo(0x1234);
        assertThat(ControlWord.isControl(0x80001234)).isFalse();
        assertThat(ControlWord.isControl(0x20000001)).isFalse();
        assertThat(ControlWord.isControl(0x40000001)).isFalse();
        assertThat(ControlWord.isControl(0)).isFalse();
    }

    @Test
    void theDefaultsAreThoseOfFiRstream() {
        StreamOptions options = StreamOptions.defaults();
        assertThat(options).isEqualTo(new StreamOptions(32768, 32768, 384, 384, StreamMode.IMMEDIATE));
        assertThat(options.withSendBufferBytes(16)
                        .withReceiveBufferBytes(1_048_575)
                        .withSendQueueDepth(65_535)
                        .withReceiveQueueDepth(1023)
                        .withMode(StreamMode.IWARP))
                .isEqualTo(new StreamOptions(16, 1_048_575, 65_535, 1023, StreamMode.IWARP));
    }

    @Test
    void refusesSizesThatTheProtocolCannotCarry() {
        StreamOptions options = StreamOptions.defaults();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> options.withReceiveBufferBytes(1 << 20))
                .withMessage("receiveBufferBytes must be 16 to 1048575, not 1048576");
        assertThatIllegalArgumentException().isThrownBy(() -> options.withSendBufferBytes(1 << 20));
        assertThatIllegalArgumentException().isThrownBy(() -> options.withSendBufferBytes(15));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> options.withReceiveQueueDepth(1024))
                .withMessage("receiveQueueDepth must be 4 to 1023, not 1024");
        assertThatIllegalArgumentException().isThrownBy(() -> options.withSendQueueDepth(65_536));
        assertThatIllegalArgumentException().isThrownBy(() -> options.withSendQueueDepth(3));
    }
}
