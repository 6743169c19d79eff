package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SequenceAccountTests {

    @Test
    void isCompleteWhenEveryNumberCameOnce() {
        SequenceAccount account = account(200);
        for (int i = 0; i < 199; i++) {
            account.accept(i);
            assertThat(account.isComplete()).isFalse();
        }
        account.accept(199);
        assertThat(account.isComplete()).isTrue();
        assertThat(account.lost()).isZero();
        assertThat(account.duplicates()).isZero();
        assertThat(account.reordered()).isZero();
        assertThat(account.missing()).isEmpty();
    }

    @Test
    void namesWhatIsLost() {
        SequenceAccount account = account(100, 0, 1, 4, 5, 99);
        assertThat(account.lost()).isEqualTo(95);
        assertThat(account.received()).isEqualTo(5);
        assertThat(account.missing()).isEqualTo("2-3, 6-98");
        assertThat(account.isComplete()).isFalse();
    }

    @Test
    void namesSingleNumbersAndOnlyTheFirstGaps() {
        assertThat(account(12, 1, 3, 5, 7, 9).missing()).isEqualTo("0, 2, 4, 6, …");
        assertThat(account(3).missing()).isEqualTo("0-2");
    }

    @Test
    void tellsADuplicateFromALateOne() {
        SequenceAccount account = account(6, 0, 2, 1, 2, 5, 3, 3, 4);
        assertThat(account.isComplete()).isTrue();
        assertThat(account.duplicates()).isEqualTo(2);
        assertThat(account.reordered()).isEqualTo(3);
    }

    @Test
    void keepsNumbersApartThatAreNotExpected() {
        SequenceAccount account = account(3, 0, 3, -1, 1L << 40, 1);
        assertThat(account.beyond()).isEqualTo(3);
        assertThat(account.lost()).isEqualTo(1);
        assertThat(account.next()).isEqualTo(2);
    }

    @Test
    void expectsNothingOfNothing() {
        assertThat(account(0).isComplete()).isTrue();
        assertThat(account(0, 0).beyond()).isEqualTo(1);
    }

    private static SequenceAccount account(int expected, long... numbers) {
        SequenceAccount account = new SequenceAccount(expected);
        for (long number : numbers) {
            account.accept(number);
        }
        return account;
    }
}
