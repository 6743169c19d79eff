package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.ConnectionMode;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
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
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How a side waits for what takes long, and for what is there already. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExclusiveDevice
class ProgressIT {

    private static final Duration STEP = Duration.ofSeconds(30);
    private static final Duration SCENARIO = Duration.ofSeconds(60);

    private List<NativeResource> before = List.of();
    private FabricDevice device;

    @BeforeEach
    void resolve() {
        device = Fabric.load("auto").local().resolve();
        before = Ledger.live();
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEqualTo(before);
    }

    /** The server sends its message once the client sleeps, or once it waits, where it is to poll. */
    @ParameterizedTest
    @EnumSource(Waiting.class)
    void aWaitThatTakesLongSleepsUnlessItIsToPoll(Waiting waiting) {
        AtomicReference<Progress> waits = new AtomicReference<>();
        RcLink.Spec spec = new RcLink.Spec(ConnectionMode.RDMA_CM, 4, 4, 0, 1, waiting, false, STEP);
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
        RcLink.Spec spec = new RcLink.Spec(ConnectionMode.RDMA_CM, 4, 4, 0, 1, waiting, false, STEP);
        Role<String> server = accepting(spec, messages -> {
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
        Role<Boolean> client = connecting(spec, messages -> {
            // The server waits for a goodbye as long as STEP.
            await().atMost(SCENARIO).until(() -> leave.getCount() == 0);
            messages.link().disconnect();
            return true;
        });
        return LocalRoles.runPair(device, server, client, SCENARIO).server();
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
