package io.rdmatest.report.culprits;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code pairs.jsonl}. Unknown members and empty lines are ignored. A last line without {@code \n} was cut short by the end
 * of a killed run. If it is no cell, it is left out, and {@link #notes} says so.
 */
public final class PairsReader {

    /** Takes the cells that are read. */
    @FunctionalInterface
    public interface Sink {

        /**
         * Takes a cell.
         *
         * @param cell the cell
         * @param position where its line begins in the file, in bytes
         */
        void accept(PairLine cell, long position);
    }

    /** A line that measured a cause again, and the number of its file, from 1. */
    private record Confirmed(PairLine line, int file) {}

    private record Placed(PairLine cell, long position) {}

    /**
     * What parsed lines have.
     *
     * @param cells their cells
     * @param count how many lines there are
     * @param wrong why the line after these is no cell; null if there is no such line
     * @param isCut whether that line was cut short
     */
    private record Parsed(
            List<Placed> cells, long count, @Nullable String wrong, boolean isCut) {}

    /** The number of bytes among which a single line is usually whole. */
    private static final int MOST_LINES = 1 << 13;

    /** The longest allowed line. The line of a cell has about 500 bytes. */
    private static final int LONGEST_LINE = 4 << 20;

    /** The number of bytes that one thread parses at a time: enough to tell that a line is too long. */
    private static final int CHUNK = LONGEST_LINE + 1;

    private static final ObjectReader JSON = PairJson.MAPPER.readerFor(PairLine.class);

    private final List<String> notes = new ArrayList<>();
    private final List<Confirmed> confirmations = new ArrayList<>();

    /** The rails that have cells in the current file. */
    private final Set<String> rails = new HashSet<>();

    private int begun;

    /** Creates a reader. */
    public PairsReader() {}

    /** Returns notes about the files that were read, as sentences. */
    public List<String> notes() {
        return List.copyOf(notes);
    }

    /**
     * Returns the lines that measured causes again, in the order of the files that were read. If a later file has cells of a
     * rail, earlier lines of that rail are left out: their cells may be replaced.
     */
    public List<PairLine> confirmations() {
        return confirmations.stream().map(Confirmed::line).toList();
    }

    /**
     * Reads a whole file. Lines by which causes were measured again are no cells: {@link #confirmations} has them.
     *
     * @return its cells, in its order
     * @throws IOException as {@link #read(Path, Sink)}
     */
    public List<PairLine> read(Path path) throws IOException {
        List<PairLine> cells = new ArrayList<>();
        read(path, (cell, position) -> cells.add(cell));
        return cells;
    }

    /**
     * Reads a file, cell by cell, in its order.
     *
     * @param path the file
     * @param sink takes the cells, in this thread
     * @throws IOException if the file can't be read, or a line of it is no cell; the message names file and line
     */
    public void read(Path path, Sink sink) throws IOException {
        begun++;
        rails.clear();
        int threads = Math.max(1, Math.min(4, Runtime.getRuntime().availableProcessors()));
        try (FileChannel file = FileChannel.open(path);
                ExecutorService parsers = Executors.newFixedThreadPool(threads)) {
            try {
                read(path, file, parsers, threads, sink);
            } finally {
                List<Runnable> ignored = parsers.shutdownNow();
            }
        } catch (NoSuchFileException e) {
            throw new IOException(path + " can't be read: there is no such file", e);
        } catch (BrokenLineException e) {
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } catch (IOException e) {
            throw new IOException(path + " can't be read: " + e, e);
        }
    }

    private void read(Path path, FileChannel file, ExecutorService parsers, int threads, Sink sink)
            throws IOException, InterruptedException {
        Deque<Future<Parsed>> ahead = new ArrayDeque<>();
        long size = file.size();
        long lines = 0;
        long position = 0;
        while (position < size || !ahead.isEmpty()) {
            while (position < size && ahead.size() <= threads) {
                ByteBuffer bytes = lines(file, position, CHUNK);
                long begin = position;
                ahead.add(parsers.submit(() -> parse(bytes.array(), bytes.limit(), begin)));
                // A file that became shorter has no more lines.
                position = bytes.hasRemaining() ? position + bytes.limit() : size;
            }
            Parsed parsed = parsed(ahead.remove());
            parsed.cells().forEach(each -> take(each, sink));
            lines += parsed.count();
            if (parsed.isCut()) {
                notes.add("%s:%d was cut short when it was written, and is left out".formatted(path, lines + 1));
            } else if (parsed.wrong() != null) {
                throw new BrokenLineException(path, lines + 1, parsed.wrong());
            }
        }
    }

    private void take(Placed placed, Sink sink) {
        PairLine cell = placed.cell();
        if (cell.confirmation()) {
            confirmations.add(new Confirmed(cell, begun));
            return;
        }
        if (rails.add(cell.rail())) {
            confirmations.removeIf(
                    earlier -> earlier.file() < begun && earlier.line().rail().equals(cell.rail()));
        }
        sink.accept(cell, placed.position());
    }

    private static Parsed parsed(Future<Parsed> lines) throws InterruptedException {
        try {
            return lines.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("The parser failed: " + e.getCause(), e);
        }
    }

    /** Returns the lines that begin at a position, up to a number of bytes: whole ones, unless there is none. */
    private static ByteBuffer lines(FileChannel file, long position, int most) throws IOException {
        long left = file.size() - position;
        ByteBuffer bytes = ByteBuffer.allocate(Math.clamp(left, 0, most));
        int read;
        do {
            read = file.read(bytes, position + bytes.position());
        } while (read >= 0 && bytes.hasRemaining());
        int end = bytes.flip().limit();
        while (left > most && end > 0 && bytes.get(end - 1) != '\n') {
            end--;
        }
        return end == 0 ? bytes : bytes.limit(end);
    }

    private static Parsed parse(byte[] bytes, int size, long position) {
        List<Placed> cells = new ArrayList<>(size / 300 + 1);
        long lines = together(bytes, size, position, cells);
        if (lines >= 0) {
            return new Parsed(cells, lines, null, false);
        }
        cells.clear();
        return oneByOne(bytes, size, position, cells);
    }

    /**
     * Parses lines with one parser, which takes half of the time of a parser for each.
     *
     * @return how many lines there are; -1 if one of them is not a cell and nothing else
     */
    private static long together(byte[] bytes, int size, long position, List<Placed> cells) {
        long count = 0;
        try (MappingIterator<PairLine> values = JSON.readValues(bytes, 0, size)) {
            JsonParser parser = values.getParser();
            int end;
            for (int begin = 0; begin < size; begin = end, count++) {
                end = lineEnd(bytes, begin, size);
                int first = first(bytes, begin, end);
                if (first == end) {
                    continue;
                }
                if (end - begin > LONGEST_LINE
                        || !values.hasNextValue()
                        || parser.currentTokenLocation().getByteOffset() != first) {
                    return -1;
                }
                PairLine cell = values.nextValue();
                if (cell == null || parser.currentLocation().getByteOffset() > end) {
                    return -1;
                }
                cells.add(new Placed(cell, position + begin));
            }
            return values.hasNextValue() ? -1 : count;
        } catch (IOException e) {
            return -1;
        }
    }

    /** Parses each line with a parser of its own, which finds the first one that is no cell. */
    private static Parsed oneByOne(byte[] bytes, int size, long position, List<Placed> cells) {
        long count = 0;
        int end;
        for (int begin = 0; begin < size; begin = end, count++) {
            end = lineEnd(bytes, begin, size);
            int first = first(bytes, begin, end);
            if (end - begin > LONGEST_LINE) {
                return new Parsed(cells, count, "it has more than " + LONGEST_LINE + " bytes", false);
            }
            if (first < end && bytes[first] == '[') {
                return new Parsed(
                        cells,
                        count,
                        "it is a JSON array: write each object on a line of its own, as jq -c '.[]' does",
                        false);
            }
            try {
                if (first < end) {
                    PairLine cell = JSON.readValue(bytes, begin, end - begin);
                    if (cell == null) {
                        return new Parsed(cells, count, "it is not a JSON object", false);
                    }
                    cells.add(new Placed(cell, position + begin));
                }
            } catch (IOException e) {
                // What is JSON was not cut.
                boolean isCut = end == size && bytes[end - 1] != '\n' && PairJson.isNoJson(e);
                return new Parsed(cells, count, PairJson.reason(e), isCut);
            }
        }
        return new Parsed(cells, count, null, false);
    }

    /** Returns where the next line begins. */
    private static int lineEnd(byte[] bytes, int begin, int size) {
        int end = begin;
        while (end < size && bytes[end] != '\n') {
            end++;
        }
        return Math.min(size, end + 1);
    }

    /** Returns where the text of a line begins; its end if it is empty. */
    private static int first(byte[] bytes, int begin, int end) {
        int first = begin;
        while (first < end && Character.isWhitespace(bytes[first])) {
            first++;
        }
        return first;
    }

    /**
     * Reads one line again.
     *
     * @param path the file
     * @param position where the line begins, in bytes
     * @throws IOException if the file can't be read, or there is no cell at that position
     */
    static PairLine at(Path path, long position) throws IOException {
        try (FileChannel file = FileChannel.open(path)) {
            ByteBuffer bytes = lines(file, position, MOST_LINES);
            if (bytes.limit() == MOST_LINES && lineEnd(bytes.array(), 0, MOST_LINES) == MOST_LINES) {
                bytes = lines(file, position, LONGEST_LINE);
            }
            return JSON.readValue(bytes.array(), 0, lineEnd(bytes.array(), 0, bytes.limit()));
        } catch (JsonProcessingException e) {
            throw new IOException(path + " has changed since it was read: " + PairJson.reason(e), e);
        }
    }

    /** Signals that a line of a file is no cell. */
    private static final class BrokenLineException extends IOException {

        private static final long serialVersionUID = 1L;

        BrokenLineException(Path path, long line, String reason) {
            super("%s:%d is no cell of a pairs.jsonl: %s".formatted(path, line, reason));
        }
    }
}
