package io.rdmatest.report.nights;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Folders that a run leaves behind. */
public final class Folders {

    private Folders() {}

    /**
     * Deletes a folder with all that is in it; does nothing if there is none.
     *
     * @throws IOException if something in it can't be deleted; the message names it, the reason and what to do
     */
    public static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                try {
                    Files.delete(each);
                } catch (IOException e) {
                    throw new IOException(
                            each + " can't be deleted: " + e + ". Delete " + folder + " as its owner, or as root.", e);
                }
            }
        }
    }
}
