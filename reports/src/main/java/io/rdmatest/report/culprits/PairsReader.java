package io.rdmatest.report.culprits;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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

    /** The number of bytes that one thread parses at a time. */
    private static final int CHUNK = 4 << 20;

    /** The longest allowed line. The line of a cell has about 500 bytes. */
    private static final int LONGEST_LINE = 1 << 20;

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
            // So that the message on one is ours.
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .build();

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
        } catch (IOException e) {
            throw new IOException(path + " can't be read: " + e, e);
        }
    }

    private void read(Path path, FileChannel file, ExecutorService parsers, int threads, Sink sink) throws IOException {
        Deque<Future<List<Placed>>> parsed = new ArrayDeque<>();
        byte[] rest = new byte[0];
        long begin = 0;
        while (true) {
            byte[] bytes = Arrays.copyOf(rest, rest.length + CHUNK);
            int length = fill(file, bytes, rest.length);
            boolean last = length < bytes.length;
            int end = last ? length : afterLastLine(bytes, length);
            if (end == 0 && length > LONGEST_LINE) {
                throw new BrokenLineException(path, line(file, begin), "it has more than " + LONGEST_LINE + " bytes");
            }
            Chunk chunk = new Chunk(path, file, bytes, end, begin, last);
            parsed.add(parsers.submit(chunk::parse));
            if (last || parsed.size() > threads) {
                drain(parsed, last ? 0 : threads, sink);
            }
            if (last) {
                break;
            }
            rest = Arrays.copyOfRange(bytes, end, length);
            begin += end;
        }
    }

    private void drain(Deque<Future<List<Placed>>> parsed, int left, Sink sink) throws IOException {
        while (parsed.size() > left) {
            try {
                for (Placed each : parsed.removeFirst().get()) {
                    if (each.cell().confirmation()) {
                        confirmations.add(new Confirmed(each.cell(), begun));
                    } else {
                        if (rails.add(each.cell().rail())) {
                            confirmations.removeIf(earlier -> earlier.file() < begun
                                    && earlier.line().rail().equals(each.cell().rail()));
                        }
                        sink.accept(each.cell(), each.position());
                    }
                }
            } catch (ExecutionException e) {
                if (e.getCause() instanceof IOException broken) {
                    throw broken;
                }
                throw new IllegalStateException("The parser failed: " + e.getCause(), e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
    }

    private static int fill(FileChannel file, byte[] bytes, int from) throws IOException {
        ByteBuffer free = ByteBuffer.wrap(bytes, from, bytes.length - from);
        while (free.hasRemaining()) {
            if (file.read(free) < 0) {
                break;
            }
        }
        return free.position();
    }

    private static int afterLastLine(byte[] bytes, int length) {
        int end = length;
        while (end > 0 && bytes[end - 1] != '\n') {
            end--;
        }
        return end;
    }

    /** Returns the number of the line at a position, from 1. */
    private static long line(FileChannel file, long position) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
        long line = 1;
        for (long at = 0; at < position; ) {
            bytes.clear().limit((int) Math.min(bytes.capacity(), position - at));
            int read = file.read(bytes, at);
            if (read < 0) {
                break;
            }
            for (int i = 0; i < read; i++) {
                if (bytes.get(i) == '\n') {
                    line++;
                }
            }
            at += read;
        }
        return line;
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
            file.position(position);
            byte[] bytes = new byte[1 << 12];
            int length = fill(file, bytes, 0);
            while (length == bytes.length && indexOfNewline(bytes) < 0) {
                bytes = Arrays.copyOf(bytes, 2 * length);
                length = fill(file, bytes, length);
            }
            int newline = indexOfNewline(bytes);
            try (JsonParser parser = JSON.createParser(bytes, 0, newline < 0 ? length : newline)) {
                JsonToken ignored = parser.nextToken();
                return new LineParser(parser).cell();
            } catch (JsonProcessingException | IllegalArgumentException e) {
                throw new IOException(path + " has changed since it was read: " + e.getMessage(), e);
            }
        }
    }

    private static int indexOfNewline(byte[] bytes) {
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == '\n') {
                return i;
            }
        }
        return -1;
    }

    /** Signals that a line of a file is no cell. */
    private static final class BrokenLineException extends IOException {

        private static final long serialVersionUID = 1L;

        BrokenLineException(Path path, long line, String reason) {
            super("%s:%d is no cell of a pairs.jsonl: %s".formatted(path, line, reason));
        }
    }

    /** Whole lines of a file. */
    private final class Chunk {

        private final Path path;
        private final FileChannel file;
        private final byte[] bytes;
        private final int length;
        private final long begin;
        private final boolean last;

        Chunk(Path path, FileChannel file, byte[] bytes, int length, long begin, boolean last) {
            this.path = path;
            this.file = file;
            this.bytes = bytes;
            this.length = length;
            this.begin = begin;
            this.last = last;
        }

        List<Placed> parse() throws IOException {
            List<Placed> cells = new ArrayList<>(length / 300 + 1);
            int lineBegin = 0;
            try (JsonParser parser = JSON.createParser(bytes, 0, length)) {
                LineParser lines = new LineParser(parser);
                while (true) {
                    JsonToken token = parser.nextToken();
                    if (token == null) {
                        return cells;
                    }
                    int at = (int) parser.currentTokenLocation().getByteOffset();
                    if (at < lineBegin) {
                        lineBegin = lineBegin(at);
                        throw new IllegalArgumentException("it goes on behind the cell");
                    }
                    lineBegin = lineBegin(at);
                    int lineEnd = lineEnd(at);
                    PairLine cell = lines.cell();
                    if (parser.currentLocation().getByteOffset() > lineEnd) {
                        throw new IllegalArgumentException("the line ends within the cell");
                    }
                    cells.add(new Placed(cell, begin + lineBegin));
                    lineBegin = lineEnd;
                }
            } catch (JsonProcessingException | IllegalArgumentException e) {
                int from = skipEmpty(lineBegin);
                // What is JSON was not cut.
                boolean cut = last
                        && lineEnd(from) == length
                        && bytes[length - 1] != '\n'
                        && e instanceof JsonProcessingException;
                String reason = e instanceof JsonProcessingException json
                        ? json.getOriginalMessage()
                        : String.valueOf(e.getMessage());
                if (cut) {
                    notes.add("%s:%d was cut short when it was written, and is left out"
                            .formatted(path, line(file, begin + from)));
                    return cells;
                }
                throw new BrokenLineException(path, line(file, begin + from), reason);
            }
        }

        private int skipEmpty(int from) {
            int at = from;
            while (at < length - 1 && (bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == ' ')) {
                at++;
            }
            return at;
        }

        private int lineBegin(int at) {
            int begins = at;
            while (begins > 0 && bytes[begins - 1] != '\n') {
                begins--;
            }
            return begins;
        }

        /** Returns where the next line begins. */
        private int lineEnd(int at) {
            int end = at;
            while (end < length && bytes[end] != '\n') {
                end++;
            }
            return Math.min(length, end + 1);
        }
    }

    /** Makes a cell of a JSON object. Equal names share one string. */
    private static final class LineParser {

        private final JsonParser parser;
        private final Map<String, String> names = new HashMap<>();

        LineParser(JsonParser parser) {
            this.parser = parser;
        }

        /** Parses the object whose first token is the current one. */
        PairLine cell() throws IOException {
            if (parser.currentToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException(
                        parser.currentToken() == JsonToken.START_ARRAY
                                ? "it is a JSON array: write each object on a line of its own, as jq -c '.[]' does"
                                : "it is not a JSON object");
            }
            String rail = null;
            String from = null;
            String to = null;
            String fromLeaf = null;
            String toLeaf = null;
            String cause = null;
            String outcome = null;
            String instrument = null;
            String reason = null;
            long attempts = 1;
            long samples = 0;
            long bytesVerified = 0;
            long directions = 1;
            boolean confirmation = false;
            double lineRate = Double.NaN;
            double bandwidth = Double.NaN;
            double messageRate = Double.NaN;
            double latencyP50 = Double.NaN;
            double latencyP99 = Double.NaN;
            Map<String, Long> fromCounters = Map.of();
            Map<String, Long> toCounters = Map.of();
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                JsonToken token = parser.nextToken();
                if (token == JsonToken.VALUE_NULL) {
                    continue;
                }
                switch (name) {
                    case "schema" -> schema(text(name));
                    case "rail" -> rail = text(name);
                    case "from" -> from = text(name);
                    case "to" -> to = text(name);
                    case "fromLeaf" -> fromLeaf = text(name);
                    case "toLeaf" -> toLeaf = text(name);
                    case "cause" -> cause = text(name);
                    case "instrument" -> instrument = textIfAny();
                    case "reason" -> reason = textIfAny();
                    case "outcome" -> outcome = text(name);
                    case "attempts" -> attempts = whole(name);
                    case "samples" -> samples = whole(name);
                    case "bytesVerified" -> bytesVerified = whole(name);
                    case "directions" -> directions = whole(name);
                    case "confirmation" -> confirmation = truth(name);
                    case "lineRate" -> lineRate = number(name);
                    case "bandwidth" -> bandwidth = number(name);
                    case "messageRate" -> messageRate = number(name);
                    case "latencyP50" -> latencyP50 = number(name);
                    case "latencyP99" -> latencyP99 = number(name);
                    case "counters" -> {
                        object(name);
                        for (String side = parser.nextFieldName(); side != null; side = parser.nextFieldName()) {
                            token = parser.nextToken();
                            if (side.equals("from") && token != JsonToken.VALUE_NULL) {
                                fromCounters = counters("counters.from");
                            } else if (side.equals("to") && token != JsonToken.VALUE_NULL) {
                                toCounters = counters("counters.to");
                            } else {
                                skip();
                            }
                        }
                    }
                    default -> skip();
                }
            }
            return new PairLine(
                    required("rail", rail),
                    required("from", from),
                    required("to", to),
                    fromLeaf,
                    toLeaf,
                    Math.toIntExact(Math.min(attempts, Integer.MAX_VALUE)),
                    PairLine.Outcome.of(required("outcome", outcome)),
                    cause,
                    lineRate,
                    bandwidth,
                    messageRate,
                    latencyP50,
                    latencyP99,
                    samples,
                    bytesVerified,
                    Math.toIntExact(Math.clamp(directions, 0, Integer.MAX_VALUE)),
                    confirmation,
                    fromCounters,
                    toCounters,
                    confirmation && instrument != null ? new PairLine.Instrument(instrument, reason) : null);
        }

        private void skip() throws IOException {
            JsonParser ignored = parser.skipChildren();
        }

        private static void schema(String schema) {
            if (!schema.equals(PairLine.SCHEMA)) {
                throw new IllegalArgumentException(
                        "\"schema\" is \"" + schema + "\", and this build reads \"" + PairLine.SCHEMA + "\"");
            }
        }

        private static String required(String name, @Nullable String value) {
            if (value == null) {
                throw new IllegalArgumentException("it has no \"" + name + "\"");
            }
            return value;
        }

        private String text(String name) throws IOException {
            if (parser.currentToken() != JsonToken.VALUE_STRING) {
                throw new IllegalArgumentException("\"" + name + "\" is not a string");
            }
            String text = parser.getText();
            String known = names.putIfAbsent(text, text);
            return known == null ? text : known;
        }

        /** In lines of cells, these members may belong to other tools, with any type. */
        private @Nullable String textIfAny() throws IOException {
            if (parser.currentToken() == JsonToken.VALUE_STRING) {
                return parser.getText();
            }
            skip();
            return null;
        }

        private double number(String name) throws IOException {
            JsonToken token = parser.currentToken();
            if (token != JsonToken.VALUE_NUMBER_FLOAT && token != JsonToken.VALUE_NUMBER_INT) {
                throw new IllegalArgumentException("\"" + name + "\" is not a number");
            }
            double value = parser.getDoubleValue();
            if (Double.isNaN(value)) {
                throw new IllegalArgumentException("\"" + name + "\" is NaN: it must be a number, or null");
            }
            return value;
        }

        private long whole(String name) throws IOException {
            if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT) {
                return parser.getLongValue();
            }
            double value = number(name);
            if (value != Math.rint(value) || Math.abs(value) > Long.MAX_VALUE / 2.0) {
                throw new IllegalArgumentException("\"" + name + "\" is not a whole number");
            }
            return (long) value;
        }

        private boolean truth(String name) throws IOException {
            if (!parser.currentToken().isBoolean()) {
                throw new IllegalArgumentException("\"" + name + "\" is not true or false");
            }
            return parser.getBooleanValue();
        }

        private void object(String name) {
            if (parser.currentToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("\"" + name + "\" is not an object");
            }
        }

        private Map<String, Long> counters(String name) throws IOException {
            object(name);
            Map<String, Long> counters = new TreeMap<>();
            for (String counter = parser.nextFieldName(); counter != null; counter = parser.nextFieldName()) {
                JsonToken token = parser.nextToken();
                if (token == JsonToken.VALUE_NULL) {
                    continue;
                }
                counters.put(counter, whole(name + "." + counter));
            }
            return counters.isEmpty() ? Map.of() : counters;
        }
    }
}
