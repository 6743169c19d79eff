package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.OutstandingWork;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendRequests;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What providers return on the data path, where few of them return an errno. */
@ExtendWith(UsualStandin.class)
class DataPathErrorsTestCase {

    @ParameterizedTest
    @ValueSource(ints = {-1, -2})
    void aPollErrorThatIsNoErrnoIsTheProvidersOwnNumber(int result) throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.cq();
            Standin.set("poll_result", result);
            RdmaException failure = catchThrowableOfType(RdmaException.class, () -> cq.poll(cq.newCompletions(1)));
            assertThat(failure)
                    .hasMessageStartingWith("ibv_poll_cq(" + cq.describe() + ") failed: it returned " + result + ",")
                    .hasMessageContaining("no errno")
                    .hasMessageContaining("mlx5");
            assertThat(failure.getMessage()).doesNotContain("ENOENT").doesNotContain("EPERM");
            assertThat(failure.errno()).isZero();
            assertThat(failure.rdmaCause()).isEqualTo(Cause.CALL_FAILED);
        }
    }

    @Test
    void aPollErrorThatIsAnErrnoIsNamedAndShown() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.cq();
            Standin.set("poll_result", -5);
            RdmaException failure = catchThrowableOfType(RdmaException.class, () -> cq.poll(cq.newCompletions(1)));
            assertThat(failure)
                    .hasMessageContaining("EIO")
                    .hasMessageContaining("It returned -5")
                    .hasMessageContaining("efa");
            assertThat(failure.errno()).isEqualTo(5);
            assertThat(failure.rdmaCause()).isEqualTo(Cause.DEVICE_REMOVED);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPostThatReturnsMinusOneNamesNoErrno(boolean send) throws Exception {
        try (Standin standin = new Standin();
                SendRequests sends = SendRequests.allocate(3);
                ReceiveRequests receives = ReceiveRequests.allocate(3)) {
            Standin.Pair pair = standin.pair();
            for (int i = 0; i < 3; i++) {
                sends.send(i, i, pair.mrA(), 0, 8);
                receives.receive(i, i, pair.mrA(), 0, 8);
            }
            Standin.set("post_result", -1);
            Standin.set("post_bad", 2);
            PostException failure = catchThrowableOfType(PostException.class, () -> {
                if (send) {
                    pair.a().post(sends);
                } else {
                    pair.a().post(receives);
                }
            });
            assertThat(failure)
                    .hasMessageContaining(send ? "ibv_post_send" : "ibv_post_recv")
                    .hasMessageContaining("request 2 of 3")
                    .hasMessageContaining("Requests 0 to 1 are posted")
                    .hasMessageContaining("It returned -1, which is no errno")
                    .hasMessageContaining("full")
                    .hasMessageContaining("does not fit");
            assertThat(failure.getMessage()).doesNotContain("ENOMEM");
            assertThat(failure.errno()).isZero();
            assertThat(failure.badIndex()).isEqualTo(2);
            OutstandingWork work = pair.a().work();
            assertThat(send ? work.sends() : work.receives()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @CsvSource({"12, ENOMEM, The queue is full", "-12, ENOMEM, The queue is full", "22, EINVAL, does not fit"})
    void aPostThatReturnsAnErrnoNamesIt(int result, String name, String cure) throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            Standin.set("post_result", result);
            Standin.set("post_bad", -1);
            PostException failure =
                    catchThrowableOfType(PostException.class, () -> pair.a().postSend(1, pair.mrA(), 0, 8));
            assertThat(failure).hasMessageContaining(name).hasMessageContaining(cure);
            assertThat(failure.errno()).isEqualTo(Math.abs(result));
            assertThat(failure.badIndex()).isEqualTo(-1);
        }
    }
}
