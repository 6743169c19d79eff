package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CloserTests {

    private final List<String> closed = new ArrayList<>();
    private final Closer closer = new Closer();

    private AutoCloseable resource(String name) {
        return () -> closed.add(name);
    }

    private static AutoCloseable failing(Throwable failure) {
        return () -> {
            if (failure instanceof Error error) {
                throw error;
            }
            throw (Exception) failure;
        };
    }

    @Test
    void closesInReverseOrderAndTheLongestLast() {
        closer.own(resource("domain"));
        closer.ownLongest(resource("channel"));
        closer.own(resource("queue pair"));

        closer.close();

        assertThat(closed).containsExactly("queue pair", "domain", "channel");
    }

    @Test
    void closesEachOnce() {
        closer.own(resource("one"));
        closer.close();
        closer.close();

        assertThat(closed).containsExactly("one");
    }

    @Test
    void aFailureKeepsNothingOpenAndTheFirstIsThrown() {
        IllegalStateException first = new IllegalStateException("first");
        IOException later = new IOException("later");
        closer.own(resource("below"));
        closer.own(failing(later));
        closer.own(failing(first));

        assertThatThrownBy(closer::close).isSameAs(first).hasSuppressedException(later);
        assertThat(closed).containsExactly("below");
    }

    @Test
    void anActionRunsAtOnceAndItsFailureIsThrownAtTheEnd() {
        AssertionError failure = new AssertionError("counted");

        closer.run(failing(failure));
        closer.run(resource("next"));

        assertThat(closed).containsExactly("next");
        assertThatThrownBy(closer::close).isSameAs(failure);
    }

    @Test
    void aCheckedFailureIsTheCause() {
        IOException failure = new IOException("disk full");
        closer.own(failing(failure));

        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(closer::close)
                .withCause(failure);
    }

    @Test
    void afterAFailureThatOneIsThrown() {
        IllegalStateException failure = new IllegalStateException("no route");
        IllegalStateException ofClosing = new IllegalStateException("busy");
        closer.own(failing(ofClosing));

        assertThat(closer.closeAfter(failure)).isSameAs(failure).hasSuppressedException(ofClosing);
    }

    /** What can't be closed may keep the failure that ended it, and throw that again. */
    @Test
    void afterAFailureItIsNotSuppressedInItself() {
        IllegalStateException failure = new IllegalStateException("node lost");
        closer.own(failing(failure));

        assertThat(closer.closeAfter(failure)).isSameAs(failure).hasNoSuppressedExceptions();
    }

    @Test
    void anErrorOfTheJvmKeepsNothingOpen() {
        OutOfMemoryError failure = new OutOfMemoryError("heap");
        closer.own(resource("below"));
        closer.own(failing(failure));

        assertThatThrownBy(closer::close).isSameAs(failure);
        assertThat(closed).containsExactly("below");
    }

    @Test
    void theCallerOwnsWhatIsKept() {
        closer.own(resource("kept"));
        closer.keep();
        closer.close();

        assertThat(closed).isEmpty();
    }
}
