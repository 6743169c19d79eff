package io.rdmatest.scenarios.command;

import io.rdmatest.ExitStatus;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Selects, of the failures of a server's clients, the one that decides the server's exit status. */
public final class FailedClients implements Consumer<Throwable> {

    private @Nullable Throwable decisive;

    /** Takes a failure. The first one counts, unless a later one is a failure of the fabric. */
    @Override
    public void accept(Throwable failure) {
        if (decisive == null || !isOfFabric(decisive) && isOfFabric(failure)) {
            decisive = failure;
        }
    }

    private static boolean isOfFabric(Throwable failure) {
        return Verdicts.of(failure).status() == ExitStatus.FABRIC_FAILED;
    }

    /** Returns the failure that counts; null if there was none. */
    @Nullable
    public Throwable decisive() {
        return decisive;
    }
}
