package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.cprogram.Ports;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A run of both sides of a C program: its server, and beside it its client. Programs print each line at once here. That costs them
 * nothing, because they print no line for a single message or connection.
 *
 * @param command the command line of the client
 * @param output the lines that the client printed
 * @param nanos the time of the client from its start to its end, in nanoseconds
 */
record ProgramRun(String command, List<String> output, long nanos) {

    /**
     * Runs both sides.
     *
     * @param context the address and the limit of each wait
     * @param processors what the ends are bound to
     * @param serverEnds whether the server ends with success after its client, else it is killed
     * @param program its name
     * @param server the last words of the server
     * @param client the last words of the client
     * @param both the words of both sides before these, beside a port
     * @throws NotMeasuredException if a side fails
     */
    static ProgramRun of(
            Contest.Context context,
            Processors processors,
            boolean serverEnds,
            String program,
            List<String> server,
            List<String> client,
            Object... both)
            throws IOException, InterruptedException {
        List<Object> common = new ArrayList<>(List.of("-p", Ports.next()));
        common.addAll(Arrays.asList(both));
        Object[] clientWords = words(common, client);
        try (CProgram serving = Processors.start(context.step(), processors.server(), program, words(common, server))) {
            serving.awaitListening();
            long start = System.nanoTime();
            try (CProgram connecting = Processors.start(context.step(), processors.client(), program, clientWords)) {
                connecting.awaitSuccess();
                long nanos = System.nanoTime() - start;
                if (serverEnds) {
                    serving.awaitSuccess();
                }
                return new ProgramRun(
                        command(program, clientWords),
                        connecting.output().lines().toList(),
                        nanos);
            }
        } catch (AssertionError e) {
            throw new NotMeasuredException(String.valueOf(e.getMessage()), e);
        }
    }

    private static Object[] words(List<Object> common, List<String> own) {
        List<Object> words = new ArrayList<>(common);
        words.addAll(own);
        return words.toArray();
    }

    /** Returns a command line without what binds it to a processor. */
    static String command(String program, Object... words) {
        return Arrays.stream(words).map(Object::toString).collect(Collectors.joining(" ", program + " ", ""));
    }

    /**
     * Returns a rate from the time of a run with all, less that of a run with one, so that neither starting nor connecting counts.
     *
     * @param who the side, for the message
     * @param all the time with all in nanoseconds
     * @param count how many that are, more than 1
     * @param things their name, for the message
     * @param one the time with one in nanoseconds
     * @param cure the end of the message
     * @return how many there were in a second
     * @throws NotMeasuredException if all took no longer than one
     */
    static double perSecond(String who, long all, int count, String things, long one, String cure) {
        if (all <= one) {
            throw new NotMeasuredException("%s took %d us for %d %s and %d us for one%s"
                    .formatted(who, all / 1000, count, things, one / 1000, cure));
        }
        return (count - 1) * 1e9 / (all - one);
    }
}
