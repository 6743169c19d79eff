package io.rdmatest.scenarios.command;

import io.rdmatest.ExitStatus;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a command reports at its end.
 *
 * @param status how it ended; {@link ExitStatus#VERIFIED}, unless for example one of several clients of a server failed
 * @param message one sentence that sums it up; without {@code --json} standard error has it when the status is not
 *     {@link ExitStatus#VERIFIED}
 * @param lines the text for people; without {@code --json} these are the lines of standard output
 * @param json the same for machines, in the order in which it is to appear; values are strings, numbers, booleans, lists and
 *     maps. The names {@code program}, {@code status}, {@code exit} and {@code message} are added and must not be used
 * @param endless whether an interruption is the only end that the command has, so that one does not take the place of another
 *     status than {@link ExitStatus#VERIFIED}
 */
public record Outcome(
        ExitStatus status, String message, List<String> lines, Map<String, Object> json, boolean endless) {

    public Outcome {
        lines = List.copyOf(lines);
        json = Collections.unmodifiableMap(new LinkedHashMap<>(json));
    }

    /** The command came to an end of its own. */
    public Outcome(ExitStatus status, String message, List<String> lines, Map<String, Object> json) {
        this(status, message, lines, json, false);
    }

    /**
     * A server of many clients was interrupted, and not all of them had been served well.
     *
     * @param failed how many failed, such as {@code 1 of 2 clients failed}
     * @param failure why one of them did, which is the command's status
     */
    public static Outcome ofFailedClients(
            String failed, Throwable failure, List<String> lines, Map<String, Object> json) {
        Verdicts.Verdict verdict = Verdicts.of(failure);
        return new Outcome(verdict.status(), failed + ", one of them because: " + verdict.message(), lines, json, true);
    }

    /** Everything went well; the first line sums it up. */
    public Outcome(List<String> lines, Map<String, Object> json) {
        this(ExitStatus.VERIFIED, lines.isEmpty() ? "" : lines.getFirst(), lines, json);
    }
}
