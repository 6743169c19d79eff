package io.rdmatest.junit.condition;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What this process is allowed, as proc(5) says.
 *
 * @param effectiveUser the effective user's number
 * @param capabilities the effective capabilities, one bit each
 * @param lockedMemory the soft limit of locked memory in bytes; {@link Long#MAX_VALUE} for none
 */
record ProcessRights(long effectiveUser, long capabilities, long lockedMemory) {

    private static final Pattern USER = Pattern.compile("(?m)^Uid:\\s+\\d+\\s+(\\d+)");
    private static final Pattern CAPABILITIES = Pattern.compile("(?m)^CapEff:\\s+([0-9a-f]+)");
    private static final Pattern LOCKED = Pattern.compile("(?m)^Max locked memory\\s+(\\d+|unlimited)");

    static ProcessRights ofThisProcess() {
        try {
            return parse(
                    Files.readString(Path.of("/proc/self/status")), Files.readString(Path.of("/proc/self/limits")));
        } catch (IOException e) {
            throw new UncheckedIOException("/proc/self can't be read, so nothing is known of this process's rights", e);
        }
    }

    static ProcessRights parse(String status, String limits) {
        String locked = find(LOCKED, limits, "/proc/self/limits");
        return new ProcessRights(
                Long.parseLong(find(USER, status, "/proc/self/status")),
                Long.parseUnsignedLong(find(CAPABILITIES, status, "/proc/self/status"), 16),
                // A limit may be anything up to 2^64 - 1, the value of "unlimited".
                locked.equals("unlimited") || locked.length() > 18 ? Long.MAX_VALUE : Long.parseLong(locked));
    }

    private static String find(Pattern pattern, String text, String file) {
        Matcher matcher = pattern.matcher(text);
        if (!matcher.find()) {
            throw new IllegalStateException(file + " has no line that looks like " + pattern);
        }
        return matcher.group(1);
    }

    boolean has(Privilege privilege) {
        return privilege == Privilege.ROOT ? effectiveUser == 0 : (capabilities >> privilege.bit() & 1) == 1;
    }

    /** Says what is lacking; empty if the privilege is there. */
    Optional<String> lack(Privilege privilege) {
        if (has(privilege)) {
            return Optional.empty();
        }
        return Optional.of(
                privilege == Privilege.ROOT
                        ? "the effective user is " + effectiveUser + ", and the test wants root"
                        : "the process has no " + privilege + " (CapEff is " + String.format("%016x", capabilities)
                                + "), and the test wants it");
    }

    /** Says that less memory can be locked than wanted; empty if it is enough. */
    Optional<String> lockedMemoryLack(long wanted) {
        return lockedMemory >= wanted || has(Privilege.CAP_IPC_LOCK)
                ? Optional.empty()
                : Optional.of("the limit of locked memory (ulimit -l) is " + lockedMemory / 1024
                        + " KiB, and the test wants " + (wanted + 1023) / 1024 + " KiB");
    }
}
