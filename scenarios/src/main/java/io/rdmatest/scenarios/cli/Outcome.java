package io.rdmatest.scenarios.cli;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a command reports when it came to its end.
 *
 * @param status how it ended; {@link ExitStatus#VERIFIED}, unless for example one of several clients of a server failed
 * @param lines the text for people, the summary first; without {@code --json} these are the lines of standard output
 * @param json the same for machines, in the order in which it is to appear; values are strings, numbers, booleans, lists and
 *     maps. The names {@code program}, {@code status}, {@code exit} and {@code message} are added and must not be used
 */
record Outcome(ExitStatus status, List<String> lines, Map<String, Object> json) {

    Outcome {
        lines = List.copyOf(lines);
        json = Collections.unmodifiableMap(new LinkedHashMap<>(json));
    }

    /** Everything went well. */
    Outcome(List<String> lines, Map<String, Object> json) {
        this(ExitStatus.VERIFIED, lines, json);
    }
}
