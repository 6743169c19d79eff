package io.rdmatest.report.culprits;

import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Writes {@code pairs.jsonl}, a line at a time. A line is in the file when {@link #write} returns, so that a run that is killed
 * leaves all cells that it measured. Several threads may write.
 */
public final class PairsWriter implements Closeable {

    private static final ObjectWriter JSON = PairJson.MAPPER.writerFor(PairLine.class);

    private final FileChannel file;

    private PairsWriter(FileChannel file) {
        this.file = file;
    }

    /**
     * Creates an empty file, and replaces an existing one.
     *
     * @param path the file; its folder must exist
     * @throws IOException if it can't be written
     */
    public static PairsWriter create(Path path) throws IOException {
        return new PairsWriter(FileChannel.open(
                path, StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING));
    }

    /**
     * Appends to a file, or creates it. A last line that was cut short is removed.
     *
     * @param path the file; its folder must exist
     * @throws IOException if it can't be read or written
     */
    public static PairsWriter append(Path path) throws IOException {
        FileChannel file =
                FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
        try {
            long end = endOfLines(file);
            file.truncate(end);
            file.position(end);
        } catch (IOException e) {
            file.close();
            throw e;
        }
        return new PairsWriter(file);
    }

    private static long endOfLines(FileChannel file) throws IOException {
        ByteBuffer one = ByteBuffer.allocate(1);
        for (long end = file.size(); end > 0; end--) {
            one.clear();
            if (file.read(one, end - 1) == 1 && one.get(0) == '\n') {
                return end;
            }
        }
        return 0;
    }

    /**
     * Writes a cell as the next line.
     *
     * @return where its line begins in the file, in bytes
     * @throws IOException if the file can't be written
     */
    public long write(PairLine cell) throws IOException {
        ByteBuffer line = ByteBuffer.wrap((JSON.writeValueAsString(cell) + "\n").getBytes(StandardCharsets.UTF_8));
        synchronized (file) {
            long position = file.position();
            while (line.hasRemaining()) {
                int ignored = file.write(line);
            }
            return position;
        }
    }

    /** Closes the file. */
    @Override
    public void close() throws IOException {
        file.close();
    }
}
