package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Programs of the host that tests use. */
public final class Command {

    private static final long SECONDS = 120;

    private Command() {}

    /**
     * Runs a program to its end, which has to be a good one and to come soon.
     *
     * @return what it printed
     */
    public static String run(String... command) throws IOException, InterruptedException {
        String line = String.join(" ", command);
        Path said = Files.createTempFile("command", ".txt");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            process.getOutputStream().close();
            boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
            String text = Files.readString(said);
            assertThat(ended).as(line + " did not end, and said " + text).isTrue();
            assertThat(process.exitValue()).as(line + " said " + text).isZero();
            return text;
        } finally {
            process.destroyForcibly();
            Files.delete(said);
        }
    }
}
