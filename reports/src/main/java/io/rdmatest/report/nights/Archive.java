package io.rdmatest.report.nights;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
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
     * Makes sure that an archive can be written to, before a run has taken its hours.
     *
     * @param archive the archive; it is created if it is not there
     * @throws IOException if it can't be written to; the message names it, the reason and what to do
     */
    public static void prepare(Path archive) throws IOException {
        try {
            Files.delete(Files.createTempDirectory(Files.createDirectories(archive), PART));
        } catch (FileAlreadyExistsException e) {
            throw new IOException(
                    archive + " can't be written to: " + e.getMessage() + " is a file. Name a folder.", e);
        } catch (IOException e) {
            throw new IOException(
                    archive + " can't be written to: " + e + ". Name a folder that this user can write to.", e);
        }
    }

    /**
     * Keeps the results of a run. The folder appears when it is complete.
     *
     * @param archive the archive; it is created if it is not there
     * @param results the files to keep; those that do not exist are left out
     * @param start when the run began, ISO-8601 in UTC, as in {@code 2026-11-27T04:00:00.123Z}
     * @param runId the run's id
     * @param accept whether the run is the new normal, so that later ones are compared with it and those after it only
     * @return the folder of the run
     * @throws IOException if it can't be kept, and nothing is left then; the message names the archive
     */
    public static Path keep(Path archive, List<Path> results, String start, String runId, boolean accept)
            throws IOException {
        String name = start.replace(":", "") + "-" + runId;
        Path part = archive.resolve(PART + name);
        try {
            Path ignoredArchive = Files.createDirectories(archive);
            Path ignoredPart = Files.createDirectory(part);
            for (Path file : results) {
                if (Files.exists(file)) {
                    Path ignored = Files.copy(file, part.resolve(file.getFileName()));
                }
            }
            if (accept) {
                Path ignored = Files.writeString(
                        part.resolve(ACCEPTED), "Later runs are compared with this one and those after it only.\n");
            }
            return Files.move(part, archive.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            Folders.delete(part);
            throw new IOException(archive + " can't be written to: " + e, e);
        }
    }

    /**
     * Returns whether a folder has a summary. A folder that may not be entered counts as well: reading it then reports the
     * reason.
     */
    private static boolean isRun(Path entry) {
        return Files.exists(entry.resolve(SUMMARY)) || Files.isDirectory(entry) && !Files.isExecutable(entry);
    }

    /**
     * Returns the summaries in a folder, the earliest first: its files whose names end with {@code .json}, and the summaries of the
     * runs that it keeps as an archive, in the order of their names. The latest run that is {@linkplain #ACCEPTED accepted} and
     * not in the future is the first one.
     *
     * @throws IOException if the folder can't be read
     */
    static List<Path> summaries(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            List<Path> sorted = entries.filter(
                            entry -> !entry.getFileName().toString().startsWith("."))
                    .filter(entry -> entry.getFileName().toString().endsWith(".json") || isRun(entry))
                    .sorted()
                    .toList();
            int first = 0;
            for (int i = 0; i < sorted.size(); i++) {
                Path entry = sorted.get(i);
                if (Files.exists(entry.resolve(ACCEPTED)) && !Qualification.isFromFuture(entry.resolve(SUMMARY))) {
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
