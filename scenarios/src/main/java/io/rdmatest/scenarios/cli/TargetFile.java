package io.rdmatest.scenarios.cli;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The fabric file that a command writes. */
final class TargetFile {

    private TargetFile() {}

    /** Returns whether it is a file that the command reads, also by another path. */
    static boolean isSame(Path target, Path read) {
        try {
            return Files.isSameFile(target, read);
        } catch (IOException e) {
            // One of them does not exist.
            return false;
        }
    }

    /** Replaces the file as a whole: half a file would describe half of the nodes. */
    static void write(Path target, String text) throws IOException {
        Path part = target.resolveSibling(target.getFileName() + ".part");
        try {
            Files.writeString(part, text);
            Files.move(part, target, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    /** Returns why it can't be written, as a part of a sentence. */
    static String why(IOException e) {
        if (e instanceof AccessDeniedException) {
            return "no permission";
        }
        if (e instanceof NoSuchFileException) {
            return "no file can be created in its folder";
        }
        return e instanceof FileSystemException other && other.getReason() != null
                ? other.getReason()
                : String.valueOf(e.getMessage());
    }
}
