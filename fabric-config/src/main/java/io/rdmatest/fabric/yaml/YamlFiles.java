package io.rdmatest.fabric.yaml;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** Finds the files that settings name. For the project's own modules; no API for others. */
public final class YamlFiles {

    private YamlFiles() {}

    /**
     * Finds a file from the working directory upwards: Maven runs each module's tests in the module's folder, and the path
     * was typed in the project's.
     *
     * @param text what the setting says
     * @return the file; the path as it was given if there is none
     * @throws InvalidPathException if it is no path
     */
    public static Path locate(String text) {
        Path given = Path.of(text);
        if (given.isAbsolute() || Files.exists(given)) {
            return given;
        }
        for (Path up = Path.of("").toAbsolutePath().getParent(); up != null; up = up.getParent()) {
            if (Files.isRegularFile(up.resolve(given))) {
                return up.resolve(given);
            }
        }
        return given;
    }
}
