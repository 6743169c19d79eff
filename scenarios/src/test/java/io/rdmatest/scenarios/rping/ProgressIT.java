package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.ConnectionMode;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.engine.Progress;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.Waiting;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.WorkCompletionException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How a side waits for what takes long, and for what is there already. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "120 s")
class ProgressIT {

    private static final Duration STEP = Duration.ofSeconds(30);
    private static final Duration SCENARIO = Duration.ofSeconds(60);

    /** The limit of a side that waits for a goodbye that does not come. */
    private static final Duration BRIEF = Duration.ofSeconds(5);

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    /** The server sends its message once the client sleeps, or once it waits, where it is to poll. */
    @ParameterizedTest
    @EnumSource(Waiting.class)
    void aWaitThatTakesLongSleepsUnlessItIsToPoll(Waiting waiting) {
        AtomicReference<Progress> waits = new AtomicReference<>();
        RcLink.Spec spec = spec(waiting, STEP);
        Role<Boolean> server = accepting(spec, messages -> {
            await().atMost(STEP).until(() -> waits.get() != null);
            if (waiting != Waiting.POLLING) {
                // Without a sleep nothing is sent, and both sides fail.
                await().atMost(STEP).until(() -> waits.get().sleeps() > 0);
            }
            messages.postMessage();
            messages.awaitRequests();
            messages.link().awaitDisconnect();
            return true;
        });
        Role<Long> client = connecting(spec, messages -> {
            RcLink link = messages.link();
            waits.set(link.progress());
            messages.awaitMessage("message");
            long sleeps = link.progress().sleeps();
            messages.postMessage();
            await().pollInSameThread().atMost(STEP).until(() -> {
                link.progress().poll();
                return link.progress().sends() == 1;
            });
            messages.awaitRequests();
            assertThat(link.progress().sleeps())
                    .as("what is there is not waited for")
                    .isEqualTo(sleeps);
            link.disconnect();
            return sleeps;
        });

        long sleeps = LocalRoles.runPair(device, server, client, SCENARIO).client();

        if (waiting == Waiting.POLLING) {
            assertThat(sleeps).isZero();
        } else {
            assertThat(sleeps).isPositive();
        }
    }

    /** As on iWARP, where the peer's goodbye flushes the receives before rdma_cm tells of it. */
    @ParameterizedTest
    @EnumSource(Waiting.class)
    void receivesThatAreFlushedByTheGoodbyeAreTheEnd(Waiting waiting) {
        assertThat(flushed(waiting, true)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Waiting.class)
    void receivesThatAreFlushedWithoutAGoodbyeAreAFailure(Waiting waiting) {
        assertThat(flushed(waiting, false)).contains("IBV_WC_WR_FLUSH_ERR");
    }

    /** Flushes the server's receive, and has it wait for a message or the end; returns what that failed of. */
    private String flushed(Waiting waiting, boolean goodbye) {
        CountDownLatch leave = new CountDownLatch(1);
        Role<String> server = accepting(spec(waiting, goodbye ? STEP : BRIEF), messages -> {
            messages.link()
                    .queuePair()
                    .modify(QueuePairModification.to(QpState.ERR).build());
            if (goodbye) {
                leave.countDown();
            }
            try {
                assertThat(messages.awaitMessageOrEnd("message")).isFalse();
                return "";
            } catch (WorkCompletionException e) {
                return e.status().ibvName();
            } finally {
                leave.countDown();
            }
        });
        Role<Boolean> client = connecting(spec(waiting, STEP), messages -> {
            // The server waits for a goodbye as long as its limit allows.
            await().atMost(SCENARIO).until(() -> leave.getCount() == 0);
            messages.link().disconnect();
            return true;
        });
        return LocalRoles.runPair(device, server, client, SCENARIO).server();
    }

    private static RcLink.Spec spec(Waiting waiting, Duration limit) {
        return new RcLink.Spec(ConnectionMode.RDMA_CM, 4, 4, 0, 1, waiting, false, limit);
    }

    private static <T> Role<T> accepting(RcLink.Spec spec, Function<RpingLink, T> body) {
        return context -> {
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                RpingLink[] messages = new RpingLink[1];
                try (RcLink ignored = RcLink.accept(context, spec, listener.awaitRequest(STEP), prepared -> {
                    messages[0] = new RpingLink(prepared, "server");
                    return new byte[0];
                })) {
                    return body.apply(messages[0]);
                }
            }
        };
    }

    private static <T> Role<T> connecting(RcLink.Spec spec, Function<RpingLink, T> body) {
        return context -> {
            int port = Integer.parseInt(context.hear("port", STEP));
            RpingLink[] messages = new RpingLink[1];
            try (RcLink ignored = RcLink.connect(
                    context, spec, null, new InetSocketAddress(context.peerAddress(), port), prepared -> {
                        messages[0] = new RpingLink(prepared, "client");
                        return new byte[0];
                    })) {
                return body.apply(messages[0]);
            }
        };
    }
}
