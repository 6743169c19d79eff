package io.rdmatest.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;

/** A result that is no scenario's: a row of a bench, say. */
final class AllureResult {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final Map<String, String> EXTENSIONS =
            Map.of("image/svg+xml", ".svg", "text/html", ".html", "text/plain", ".txt");

    private final String uuid;
    private final ObjectNode json = MAPPER.createObjectNode();

    /**
     * Begins a result.
     *
     * @param id by which it is known from report to report
     * @param name what the report calls it
     * @param fullName the same with what it belongs to
     * @param status {@code passed}, {@code failed}, {@code broken} or {@code unknown}
     * @param message why it did not pass; of one that did it is left out
     * @param millis when it was, since the epoch
     */
    AllureResult(String id, String name, String fullName, String status, String message, long millis) {
        this.uuid = uuid(id);
        json.put("uuid", uuid)
                .put("historyId", uuid)
                .put("name", name)
                .put("fullName", fullName)
                .put("status", status)
                .put("stage", "finished")
                .put("start", millis)
                .put("stop", millis);
        if (!status.equals("passed")) {
            json.putObject("statusDetails").put("message", message);
        }
    }

    /** Returns the id that Allure knows something by. */
    static String uuid(String name) {
        return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)).toString();
    }

    String uuid() {
        return uuid;
    }

    AllureResult description(String text) {
        json.put("description", text);
        return this;
    }

    AllureResult label(String name, String value) {
        json.withArray("labels").addObject().put("name", name).put("value", value);
        return this;
    }

    AllureResult parameter(String name, String value) {
        json.withArray("parameters").addObject().put("name", name).put("value", value);
        return this;
    }

    /**
     * Attaches a file.
     *
     * @param results the directory of Allure results
     * @param id the file's among those of this result
     * @param name what the report calls it
     * @param type {@code image/svg+xml}, {@code text/html} or {@code text/plain}
     */
    AllureResult attach(Path results, String id, String name, String type, String content) throws IOException {
        String source = uuid + "-" + id + "-attachment" + EXTENSIONS.get(type);
        Files.writeString(results.resolve(source), content);
        json.withArray("attachments")
                .addObject()
                .put("name", name)
                .put("type", type)
                .put("source", source);
        return this;
    }

    /** Writes the result into a directory of Allure results. */
    void write(Path results) throws IOException {
        MAPPER.writeValue(results.resolve(uuid + "-result.json").toFile(), json);
    }
}
