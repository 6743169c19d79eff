package io.rdmatest.scenarios.cli;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Of the failures of a server's clients, the one that decides how the server ends; told one at a time. */
final class FailedClients implements Consumer<Throwable> {

    private @Nullable Throwable told;

    /** Takes one more: the first counts, until one comes that is the fabric's. */
    @Override
    public void accept(Throwable failure) {
        if (told == null || !isOfFabric(told) && isOfFabric(failure)) {
            told = failure;
        }
    }

    private static boolean isOfFabric(Throwable failure) {
        return Verdicts.of(failure).status() == ExitStatus.FABRIC_FAILED;
    }

    /** Returns the one that counts; null if there was none. */
    @Nullable
    Throwable told() {
        return told;
    }
}
