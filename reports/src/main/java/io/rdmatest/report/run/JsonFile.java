package io.rdmatest.report.run;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A file of JSON that other programs read. */
public final class JsonFile {

    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private JsonFile() {}

    /** Readers see the old file or the new one, never half of one. */
    public static void write(Path file, Object content) throws IOException {
        // Not a temporary file of Java, which nobody else may read: others on this host collect the summary.
        Path part = file.resolveSibling(file.getFileName() + ".part");
        MAPPER.writeValue(part.toFile(), content);
        Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
}
