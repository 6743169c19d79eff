package io.rdmatest.report.culprits;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes {@code pairs.jsonl}, a line at a time. A line is in the file when {@link #write} returns, so that a run that is killed
 * leaves all cells that it measured. Several threads may write.
 */
public final class PairsWriter implements Closeable {

    private static final JsonFactory JSON = new JsonFactory();

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
     * @throws IOException if the file can't be written
     */
    public void write(PairLine cell) throws IOException {
        ByteBuffer line = ByteBuffer.wrap(line(cell));
        synchronized (file) {
            while (line.hasRemaining()) {
                int ignored = file.write(line);
            }
        }
    }

    private static byte[] line(PairLine cell) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            for (Map.Entry<String, @Nullable Object> member : members(cell).entrySet()) {
                json.writeFieldName(member.getKey());
                write(json, member.getValue());
            }
            json.writeEndObject();
            json.writeRaw('\n');
        }
        return bytes.toByteArray();
    }

    private static void write(JsonGenerator json, @Nullable Object value) throws IOException {
        switch (value) {
            case null -> json.writeNull();
            case Boolean truth -> json.writeBoolean(truth);
            case String text -> json.writeString(text);
            case Double number -> json.writeNumber(number);
            case Number number -> json.writeNumber(number.longValue());
            case Map<?, ?> members -> {
                json.writeStartObject();
                for (Map.Entry<?, ?> member : members.entrySet()) {
                    json.writeFieldName(String.valueOf(member.getKey()));
                    write(json, member.getValue());
                }
                json.writeEndObject();
            }
            default -> throw new IllegalArgumentException("No member of a cell is a " + value.getClass());
        }
    }

    /** Returns the members of a line by their names, in the order of the file. Numbers that were not measured are null. */
    static Map<String, @Nullable Object> members(PairLine cell) {
        Map<String, @Nullable Object> members = new LinkedHashMap<>();
        members.put("schema", PairLine.SCHEMA);
        members.put("rail", cell.rail());
        members.put("from", cell.from());
        members.put("to", cell.to());
        members.put("fromLeaf", cell.fromLeaf());
        members.put("toLeaf", cell.toLeaf());
        members.put("attempts", cell.attempts());
        members.put("outcome", cell.outcome().toString());
        members.put("cause", cell.cause());
        members.put("lineRate", number(cell.lineRate()));
        members.put("bandwidth", number(cell.bandwidth()));
        members.put("messageRate", number(cell.messageRate()));
        members.put("latencyP50", number(cell.latencyP50()));
        members.put("latencyP99", number(cell.latencyP99()));
        members.put("samples", cell.samples());
        members.put("bytesVerified", cell.bytesVerified());
        members.put("directions", cell.directions());
        if (cell.confirmation()) {
            members.put("confirmation", true);
        }
        PairLine.Instrument instrument = cell.instrument();
        if (instrument != null) {
            members.put("instrument", instrument.program());
            if (instrument.reason() != null) {
                members.put("reason", instrument.reason());
            }
        }
        Map<String, Object> counters = new LinkedHashMap<>();
        counters.put("from", cell.fromCounters());
        counters.put("to", cell.toCounters());
        members.put("counters", counters);
        return members;
    }

    private static @Nullable Double number(double value) {
        return Double.isNaN(value) ? null : Double.valueOf(value);
    }

    /** Closes the file. */
    @Override
    public void close() throws IOException {
        file.close();
    }
}
