package io.rdmatest.report.output;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;

/** Writes an attachment that belongs to several results. Allure shows it at the end of each of them. */
final class AllureContainer {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private AllureContainer() {}

    /** Returns the id that Allure uses for a name. */
    static String uuid(String name) {
        return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)).toString();
    }

    /**
     * Writes a page for several results.
     *
     * @param results the directory of Allure results
     * @param name the name of the results as a group
     * @param children the ids of the results
     * @param page the name of the page
     * @param html the page
     */
    static void write(Path results, String name, List<String> children, String page, String html) throws IOException {
        String uuid = uuid(name);
        String source = uuid + "-attachment.html";
        Files.writeString(results.resolve(source), html);
        ObjectNode container = MAPPER.createObjectNode().put("uuid", uuid).put("name", name);
        ArrayNode ids = container.putArray("children");
        children.forEach(ids::add);
        container
                .putArray("afters")
                .addObject()
                .put("name", "all of " + name)
                .put("status", "passed")
                .put("stage", "finished")
                .putArray("attachments")
                .addObject()
                .put("name", page)
                .put("type", "text/html")
                .put("source", source);
        MAPPER.writeValue(results.resolve(uuid + "-container.json").toFile(), container);
    }
}
