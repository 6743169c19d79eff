package io.rdmatest.scenarios.rstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Cause;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server of several connections, over TCP: the exchange is the same, and needs no device. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class StreamServerTests {

    private static final class Context implements RoleContext {

        private final CompletableFuture<String> port = new CompletableFuture<>();

        @Override
        public FabricDevice device() {
            throw new AssertionError("no device");
        }

        @Override
        public void tell(String message) {
            boolean ignored = port.complete(message);
        }

        @Override
        public String hear(String what, Duration timeout) {
            throw new AssertionError(what);
        }

        @Override
        public boolean isCancelled() {
            return false;
        }
    }

    private static RstreamOptions options(String line) {
        return RstreamOptions.parse("-T s -T v -S 3000 -C 5", line);
    }

    /** Runs a server and one client that sends a wrong byte; returns how the server failed. */
    private static Throwable failure(RstreamOptions server, RstreamOptions client) throws Exception {
        Context context = new Context();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread serving = Thread.ofPlatform()
                .daemon()
                .start(() -> failure.set(
                        catchThrowable(() -> new StreamRoles.Server(server.and("-b 127.0.0.1 -p 0")).run(context))));
        int port = port(context);
        Throwable ignored = catchThrowable(
                () -> new StreamRoles.Client(client.and("-s 127.0.0.1 -p", port, "--fault flip-payload-byte"))
                        .run(new Context()));
        assertThat(serving.join(Duration.ofSeconds(90))).isTrue();
        return failure.get();
    }

    private static int port(Context context) throws ExecutionException, InterruptedException {
        try {
            return Integer.parseInt(context.port.get(30, TimeUnit.SECONDS));
        } catch (TimeoutException e) {
            throw new AssertionError("the server does not listen", e);
        }
    }

    /** The second connection is another client's, or the same client's, which does not come any more. */
    @ParameterizedTest
    @ValueSource(strings = {"--clients 2 --timeout 60s", "--clients 2 --timeout 1s"})
    void wrongDataOfTheFirstConnectionIsTheReasonThoughTheSecondOneNeverCame(String line) throws Exception {
        Throwable failure = failure(options(line), options("--timeout 5s"));

        assertThat(failure).isInstanceOf(PayloadMismatchError.class);
        assertThat(Cause.of(failure)).isEqualTo(Cause.WRONG_DATA);
    }

    @Test
    void aConnectionThatNeverComesIsStillMissed() {
        Context context = new Context();
        RstreamOptions server = options("--clients 2 --timeout 500ms");
        Throwable failure = catchThrowable(() -> new StreamRoles.Server(server.and("-b 127.0.0.1 -p 0")).run(context));

        assertThat(failure).isInstanceOf(ScenarioException.class).hasMessageContaining("No rstream client connected");
    }
}
