package io.qameta.allure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Stands in for Allure's generator, under its name, in tests that are about other things: each call of the real one costs
 * seconds. It needs the same arguments and leaves the same files, and looks at no result.
 */
public final class CommandLine {

    private CommandLine() {}

    /**
     * Writes an empty report.
     *
     * @param arguments those of Allure's generator
     */
    public static void main(String[] arguments) throws IOException {
        List<String> words = List.of(arguments);
        if (!words.getFirst().equals("generate") || !Files.isDirectory(Path.of(words.getLast()))) {
            throw new IllegalArgumentException("not what Allure's generator takes: " + words);
        }
        Path output = Path.of(words.get(words.indexOf("--output") + 1));
        Files.createDirectories(output.resolve("history"));
        Files.writeString(output.resolve("index.html"), "<!doctype html><title>stand-in</title>");
    }
}
