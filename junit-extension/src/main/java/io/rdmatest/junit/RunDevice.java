package io.rdmatest.junit;

import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The device that a run is on: found once, opened once, kept to the run's end. */
final class RunDevice {

    static RunDevice of(ExtensionContext context) {
        return Life.ofRun(context).provide(RunDevice.class, RunDevice.class, () -> new RunDevice());
    }

    /** Returns why there is no device at all on this host; empty if there is one, or if it can't be told. */
    Optional<RuntimeException> absence() {
        return Optional.empty();
    }

    /** Returns why the run has no device; empty if it has one. */
    Optional<RuntimeException> failure() {
        return Optional.empty();
    }

    void require() {
        failure().ifPresent(failure -> {
            throw failure;
        });
    }

    String name() {
        return "none";
    }

    Map<String, String> environment() {
        return Map.of();
    }
}
