package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The rules of the ledger need no device: what is released is recorded here instead of destroyed. */
@Timeout(30)
class NativeResourceTests {

    private final List<String> released = new ArrayList<>();

    @Test
    void aParentWithLiveChildrenStaysOpenAndNamesThem() {
        Recorded pd = new Recorded("pd");
        Recorded mr = new Recorded("mr", pd);
        Recorded qp = new Recorded("qp", pd);

        assertThatIllegalStateException()
                .isThrownBy(pd::close)
                .withMessageContaining("pd")
                .withMessageContaining("mr, qp");
        assertThat(pd.isClosed()).isFalse();

        qp.close();
        mr.close();
        pd.close();
        assertThat(released).containsExactly("qp", "mr", "pd");
    }

    @Test
    void closingTwiceReleasesOnce() {
        Recorded pd = new Recorded("pd");
        pd.close();
        pd.close();
        assertThat(released).containsExactly("pd");
    }

    @Test
    void aClosedObjectRefusesUseAndChildren() {
        Recorded pd = new Recorded("pd");
        pd.close();
        assertThatIllegalStateException().isThrownBy(pd::use).withMessage("pd is closed");
        assertThatIllegalStateException()
                .isThrownBy(() -> new Recorded("mr", pd))
                .withMessageContaining("pd is closed");
    }

    @Test
    void theLedgerKnowsWhatIsLiveAndWhereItWasCreated() {
        Recorded pd = new Recorded("pd");
        assertThat(Ledger.live()).contains(pd);
        assertThat(pd.createdAt().getFileName()).isEqualTo("NativeResourceTests.java");
        assertThat(Ledger.describe(List.of(pd))).contains("pd created at").contains("NativeResourceTests");
        pd.close();
        assertThat(Ledger.live()).doesNotContain(pd);
    }

    @Test
    void objectsMadeTogetherHaveOneStackAndOthersTheirOwn() throws InterruptedException {
        List<Recorded> ofAnother = new ArrayList<>();
        Recorded first;
        Recorded second;
        Recorded inner;
        Recorded after;
        try (Ledger.StackSharing ignored = Ledger.shareStack()) {
            first = makeOne("first");
            second = new Recorded("second");
            try (Ledger.StackSharing alsoIgnored = Ledger.shareStack()) {
                inner = new Recorded("inner");
            }
            after = new Recorded("after the inner");
            Thread another = Thread.ofPlatform().start(() -> ofAnother.add(makeOne("of another thread")));
            another.join(TimeUnit.SECONDS.toMillis(20));
        }
        Recorded alone = makeOne("alone");

        assertThat(List.of(second, after))
                .allSatisfy(resource -> assertThat(resource.creationStack()).isEqualTo(first.creationStack()));
        assertThat(first.createdAt().getMethodName()).isEqualTo("objectsMadeTogetherHaveOneStackAndOthersTheirOwn");
        assertThat(inner.createdAt().getLineNumber())
                .isGreaterThan(first.createdAt().getLineNumber());
        assertThat(first.creationStack())
                .noneMatch(frame -> frame.getMethodName().equals("makeOne"));
        assertThat(List.of(ofAnother.getFirst(), alone))
                .allSatisfy(resource -> assertThat(resource.creationStack())
                        .anyMatch(frame -> frame.getMethodName().equals("makeOne")));
        List.of(first, second, inner, after, ofAnother.getFirst(), alone).forEach(NativeResource::close);
    }

    private Recorded makeOne(String name) {
        return new Recorded(name);
    }

    @Test
    void aRefusedReleaseKeepsTheObjectInTheLedgerAndCanBeTriedAgain() {
        Recorded mr = new Recorded("mr");
        mr.refusal = new RdmaException("ibv_dereg_mr", "mr", 16);
        assertThatThrownBy(mr::close).isInstanceOf(RdmaException.class).hasMessageContaining("EBUSY");
        assertThat(mr.isClosed()).isFalse();
        assertThat(Ledger.live()).contains(mr);
        mr.refusal = null;
        mr.close();
        assertThat(Ledger.live()).doesNotContain(mr);
    }

    @Test
    void closingWaitsForTheCallOfAnotherThread() throws InterruptedException {
        Recorded cq = new Recorded("cq");
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        Thread poller = Thread.ofPlatform()
                .start(() -> cq.use(() -> {
                    inside.countDown();
                    awaitOrFail(leave);
                }));
        awaitOrFail(inside);
        Thread closer = Thread.ofPlatform().start(cq::close);
        // Closing has begun as soon as new calls are refused; the call under way still holds the release back.
        while (!refuses(cq)) {
            Thread.onSpinWait();
        }
        assertThat(released).isEmpty();
        leave.countDown();
        closer.join(TimeUnit.SECONDS.toMillis(20));
        poller.join(TimeUnit.SECONDS.toMillis(20));
        assertThat(released).containsExactly("cq");
    }

    @Test
    void closingWaitsForTheOftenMadeCallOfAnotherThread() throws InterruptedException {
        Recorded cq = new Recorded("cq");
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        Thread poller = Thread.ofPlatform()
                .start(() -> cq.useOften(() -> {
                    inside.countDown();
                    awaitOrFail(leave);
                }));
        awaitOrFail(inside);
        Thread closer = Thread.ofPlatform().start(cq::close);
        while (!refuses(cq)) {
            Thread.onSpinWait();
        }
        assertThat(released).isEmpty();
        leave.countDown();
        closer.join(TimeUnit.SECONDS.toMillis(20));
        poller.join(TimeUnit.SECONDS.toMillis(20));
        assertThat(released).containsExactly("cq");
        assertThatIllegalStateException()
                .isThrownBy(() -> cq.useOften(() -> {}))
                .withMessage("cq is closed");
    }

    @Test
    void theFirstThreadThatCallsOftenStaysTheOne() throws InterruptedException {
        Recorded cq = new Recorded("cq");
        List<Boolean> first = new ArrayList<>();
        first.add(cq.isOfCaller());
        Thread other = Thread.ofPlatform().start(() -> first.add(cq.isOfCaller()));
        other.join(TimeUnit.SECONDS.toMillis(20));
        first.add(cq.isOfCaller());
        assertThat(first).containsExactly(true, false, true);
        cq.close();
    }

    /** The thread that calls often has no fence: closing has to see its call, or it has to see the close. */
    @Test
    void noOftenMadeCallIsUnderWayWhenTheObjectIsReleased() throws InterruptedException {
        for (int round = 0; round < 300; round++) {
            Recorded cq = new Recorded("cq");
            AtomicBoolean wrong = new AtomicBoolean();
            CountDownLatch began = new CountDownLatch(1);
            Thread poller = Thread.ofPlatform().start(() -> {
                try {
                    while (true) {
                        cq.useOften(() -> {
                            began.countDown();
                            boolean gone = cq.gone;
                            Thread.onSpinWait();
                            if (gone || cq.gone) {
                                wrong.set(true);
                            }
                        });
                    }
                } catch (IllegalStateException e) {
                    assertThat(e).hasMessage("cq is closed");
                }
            });
            awaitOrFail(began);
            // A second thread counts its calls apart from those of the first.
            cq.useOften(() -> {});
            cq.close();
            poller.join(TimeUnit.SECONDS.toMillis(20));
            assertThat(poller.isAlive()).isFalse();
            assertThat(wrong).isFalse();
        }
    }

    private static boolean refuses(Recorded resource) {
        try {
            resource.use();
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    private static void awaitOrFail(CountDownLatch latch) {
        try {
            if (!latch.await(20, TimeUnit.SECONDS)) {
                throw new AssertionError("the other thread did not come");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private final class Recorded extends NativeResource {
        private final String name;
        private @Nullable RuntimeException refusal;
        private volatile boolean gone;

        Recorded(String name, NativeResource... parents) {
            super(name, parents);
            this.name = name;
        }

        void use() {
            use(() -> {});
        }

        void use(Runnable call) {
            enter();
            try {
                call.run();
            } finally {
                exit();
            }
        }

        boolean isOfCaller() {
            boolean first = enterOften();
            exitOften();
            return first;
        }

        void useOften(Runnable call) {
            boolean ignored = enterOften();
            try {
                call.run();
            } finally {
                exitOften();
            }
        }

        @Override
        protected void release() {
            if (refusal != null) {
                throw refusal;
            }
            gone = true;
            released.add(name);
        }

        @Override
        public String describe() {
            return name;
        }
    }
}
