package io.rdmatest.report.culprits;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The file that the pairs of a run go to, or none. Threads that are interrupted may write as well. */
public final class PairsFile implements Closeable {

    private final @Nullable Path path;
    private @Nullable PairsWriter writer;
    private @Nullable String failure;
    private final PairMatrix matrix;

    private PairsFile(@Nullable Path path, @Nullable PairsWriter writer) {
        this.path = path;
        this.writer = writer;
        matrix = new PairMatrix(reference -> PairsReader.at(Objects.requireNonNull(path), reference));
    }

    /**
     * Begins an empty file.
     *
     * @param path the file, whose folders are made; null for none
     */
    public static PairsFile begin(@Nullable Path path) {
        if (path == null) {
            return new PairsFile(null, null);
        }
        try {
            Files.createDirectories(path.toAbsolutePath().getParent());
            return new PairsFile(path, PairsWriter.create(path));
        } catch (IOException e) {
            PairsFile file = new PairsFile(path, null);
            file.failure = e.toString();
            return file;
        }
    }

    /** Returns the file; null for none. */
    @Nullable
    public Path path() {
        return path;
    }

    /** Returns why not all lines were written; null if they were. */
    public synchronized @Nullable String failure() {
        return failure == null ? null : path + " cannot be written: " + failure;
    }

    /** Writes a line. It is in the file when this returns, unless there is a {@link #failure}. */
    public synchronized void write(PairLine line) {
        PairsWriter open = writer;
        if (path == null || open == null || failure != null) {
            return;
        }
        // An interrupt, as at a run's end, closes the file.
        boolean interrupted = Thread.interrupted();
        try {
            try {
                int ignored = matrix.add(line, open.write(line));
            } catch (ClosedByInterruptException e) {
                interrupted |= Thread.interrupted();
                PairsWriter again = PairsWriter.append(path);
                writer = again;
                int ignored = matrix.add(line, again.write(line));
            }
        } catch (IOException e) {
            failure = e.toString();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Explains the pairs that were written.
     *
     * @throws IOException if the line of an unexplained cell can't be read again
     */
    public synchronized Culprits culprits() throws IOException {
        return Culprits.of(matrix);
    }

    @Override
    public synchronized void close() {
        PairsWriter open = writer;
        writer = null;
        if (open == null) {
            return;
        }
        try {
            open.close();
        } catch (IOException e) {
            failure = failure == null ? e.toString() : failure;
        }
    }
}
