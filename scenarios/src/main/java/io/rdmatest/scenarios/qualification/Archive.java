package io.rdmatest.scenarios.qualification;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A folder that keeps the results of every run, good or bad: a folder for each, whose name begins with the time at which the run
 * began, in UTC, so that names sort as runs do.
 */
public final class Archive {

    /** The summary in the folder of a run. */
    public static final String SUMMARY = "qualification.json";

    /** A file of this name in the folder of a run says that the run is the new normal. */
    public static final String ACCEPTED = "accepted";

    /** The beginning of the names of folders that are not complete. */
    private static final String PART = ".part-";

    private Archive() {}

    /**
     * Keeps the results of a run. The folder appears when it is complete.
     *
     * @param archive the archive; it is created if it is not there
     * @param results the files to keep; those that do not exist are left out
     * @param start when the run began, ISO-8601 in UTC, as in {@code 2026-11-27T04:00:00.123Z}
     * @param runId the run's id
     * @param accept whether the run is the new normal, so that later ones are compared with it and those after it only
     * @return the folder of the run
     * @throws IOException if it can't be kept; nothing is left then
     */
    public static Path keep(Path archive, List<Path> results, String start, String runId, boolean accept)
            throws IOException {
        String name = start.replace(":", "").replaceFirst("\\.\\d+", "") + "-" + runId;
        Files.createDirectories(archive);
        Path kept = archive.resolve(name);
        if (Files.exists(kept)) {
            throw new FileAlreadyExistsException(kept + " is there already");
        }
        Path part = archive.resolve(PART + name);
        try {
            Files.createDirectory(part);
            for (Path file : results) {
                if (Files.exists(file)) {
                    Path ignored = Files.copy(file, part.resolve(file.getFileName()));
                }
            }
            if (accept) {
                Path ignored = Files.writeString(
                        part.resolve(ACCEPTED), "Later runs are compared with this one and those after it only.\n");
            }
            return Files.move(part, kept, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            delete(part);
            throw e;
        }
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }

    /**
     * Returns the summaries in a folder, the earliest first: its files whose names end with {@code .json}, and the summaries of the
     * runs that it keeps as an archive, in the order of their names. The latest run that is {@linkplain #ACCEPTED accepted} is the
     * first one.
     *
     * @throws IOException if the folder can't be read
     */
    static List<Path> summaries(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            List<Path> sorted = entries.filter(entry -> !entry.getFileName().toString().startsWith("."))
                    .filter(entry -> entry.getFileName().toString().endsWith(".json")
                            || Files.exists(entry.resolve(SUMMARY)))
                    .sorted()
                    .toList();
            int first = 0;
            for (int i = 0; i < sorted.size(); i++) {
                if (Files.exists(sorted.get(i).resolve(ACCEPTED))) {
                    first = i;
                }
            }
            return sorted.subList(first, sorted.size()).stream()
                    .map(entry -> Files.isDirectory(entry) ? entry.resolve(SUMMARY) : entry)
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            throw new IOException(folder + " can't be read: " + e, e);
        }
    }
}
