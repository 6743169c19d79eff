package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

/** Records as /dev/kmsg gives them, without the file. */
class KernelLogTests {

    private final Deque<String> records = new ArrayDeque<>();
    private final KernelLog log = new KernelLog(records::poll);

    private void say(long micros, String text) {
        records.add("6," + records.size() + "," + micros + ",-;" + text + "\n SUBSYSTEM=infiniband\n");
    }

    /** The clock of the log lags behind all others by some seconds a day. */
    @Test
    void whatCameAfterTheMarkIsToldWhateverItsTime() {
        say(5_000_000, "rxe0: before");
        long mark = log.end();
        assertThat(log.from(mark)).isEmpty();
        say(4_000_000, "rxe0: after");
        say(4_250_000, "rxe0: after that");
        assertThat(log.from(mark)).containsExactly("[4.000000] rxe0: after", "[4.250000] rxe0: after that");
        long later = log.end();
        say(9_000_000, "rxe0: at last");
        assertThat(log.from(later)).containsExactly("[9.000000] rxe0: at last");
        assertThat(log.from(mark)).hasSize(3);
    }

    @Test
    void noMoreThanTheLast200LinesAreKept() {
        long mark = log.end();
        for (int i = 1; i <= 300; i++) {
            say(i, "line " + i);
        }
        assertThat(log.from(mark))
                .hasSize(200)
                .startsWith("[0.000101] line 101")
                .endsWith("[0.000300] line 300");
        assertThat(log.from(log.end())).isEmpty();
    }

    @Test
    void whatIsNoRecordIsPassedOver() {
        long mark = log.end();
        records.add("no record");
        say(1, "a record");
        assertThat(log.from(mark)).containsExactly("[0.000001] a record");
    }

    @Test
    void aLogThatCannotBeReadIsNamedWhenItIsAskedFor() {
        KernelLog closed = new KernelLog(() -> {
            throw new RdmaException("open", "/dev/kmsg", 1);
        });
        long mark = closed.end();
        assertThatThrownBy(() -> closed.from(mark))
                .isInstanceOf(RdmaException.class)
                .hasMessageContaining("/dev/kmsg")
                .hasMessageContaining("EPERM");
    }

    /** The file itself, where this user may read it: the end of it is found, and nothing is waited for. */
    @Test
    void theEndOfTheFileIsMarkedWithoutWaiting() {
        long mark = KernelLog.mark();
        assertThat(mark).isNotNegative();
        assertThat(KernelLog.mark()).isGreaterThanOrEqualTo(mark);
    }
}
