package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.engine.Spin;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PatienceTests {

    private static final Duration LONG = Duration.ofMinutes(1);

    private boolean cancelled;
    private final AtomicInteger looks = new AtomicInteger();

    private Patience patience(Duration timeout) {
        return new Patience(
                new RoleContext() {
                    @Override
                    public FabricDevice device() {
                        throw new UnsupportedOperationException();
                    }

                    @Override
                    public void tell(String message) {
                        throw new UnsupportedOperationException();
                    }

                    @Override
                    public String hear(String what, Duration limit) {
                        throw new UnsupportedOperationException();
                    }

                    @Override
                    public boolean isCancelled() {
                        return cancelled;
                    }
                },
                timeout,
                looks::incrementAndGet);
    }

    private static void turns(Patience patience, int count, boolean worked) {
        for (int turn = 0; turn < count; turn++) {
            patience.after(worked, 3);
        }
    }

    @Test
    void aLoopThatAlwaysHasWorkEndsWithTheScenario() {
        Patience patience = patience(LONG);
        turns(patience, 10 * Spin.LOOK, true);
        cancelled = true;

        assertThatThrownBy(() -> turns(patience, Spin.LOOK, true)).isInstanceOf(RoleCancelledException.class);
    }

    @Test
    void aLoopThatWaitsLooksAroundAndEndsWithTheScenario() {
        Patience patience = patience(LONG);
        turns(patience, Spin.LOOK, true);
        assertThat(looks).hasValue(0);
        turns(patience, 2 * Spin.LOOK, false);
        assertThat(looks).hasValue(2);
        cancelled = true;

        assertThatThrownBy(() -> turns(patience, Spin.LOOK, false)).isInstanceOf(RoleCancelledException.class);
    }

    @Test
    void aWaitInWhichNothingHappensEnds() {
        Patience patience = patience(Duration.ZERO);
        turns(patience, 4 * Spin.LOOK, true);

        assertThatThrownBy(() -> turns(patience, Spin.LOOK, false))
                .isInstanceOf(RdmaTimeoutException.class)
                .hasMessageContaining("3 lists of requests are on their way");
    }
}
