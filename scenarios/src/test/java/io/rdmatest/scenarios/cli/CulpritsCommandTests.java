package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CulpritsCommandTests {

    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int culprits(Object... arguments) {
        String[] all = new String[arguments.length + 1];
        all[0] = "culprits";
        for (int i = 0; i < arguments.length; i++) {
            all[i + 1] = arguments[i].toString();
        }
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), all);
    }

    private Path pairs(String name, int bad, String outcome) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int from = 0; from < 6; from++) {
            for (int to = 0; to < 6; to++) {
                if (from != to) {
                    text.append(String.format(
                            Locale.ROOT,
                            "{\"schema\": \"pairs/1\", \"rail\": \"rail0\", \"from\": \"n%d\", \"to\": \"n%d\","
                                    + " \"attempts\": 1, \"outcome\": \"%s\", \"lineRate\": 100e9,"
                                    + " \"bandwidth\": %de9}%n",
                            from,
                            to,
                            outcome,
                            from == bad ? 40 : 95));
                }
            }
        }
        return Files.writeString(folder.resolve(name), text);
    }

    @Test
    void noCulprit() throws IOException {
        assertThat(culprits(pairs("good", -1, "measured"))).as(err.toString()).isZero();
        assertThat(out.toString()).contains("no culprit in 30 cells, 0 bad cells unexplained");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aCulprit() throws IOException {
        assertThat(culprits(pairs("bad", 3, "measured"))).isEqualTo(1);
        assertThat(out.toString())
                .contains(
                        "port n3 on rail0, sending",
                        "  5 of 5 pairs from n3 on rail0 are bad, 0 of 5 to it; bandwidth 40 Gb/s, others 95 Gb/s");
        assertThat(err.toString())
                .isEqualToIgnoringNewLines(
                        "./rdmatest culprits: fabric failed: 1 culprit in 30 cells: port n3 on rail0, sending");
    }

    @Test
    void theResultAsJson() throws IOException {
        assertThat(culprits("--json", pairs("bad", 3, "measured"))).isEqualTo(1);
        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertThat(mistakes(json)).isEmpty();
        assertThat(json.path("exit").asInt()).isEqualTo(1);
        assertThat(json.path("causes")).hasSize(1);
        assertThat(json.path("causes").path(0).path("direction").asText()).isEqualTo("out");
        assertThat(json.path("unexplained").isArray()).isTrue();
    }

    @Test
    void allFilesArePutTogether() throws IOException {
        assertThat(culprits(pairs("bad", 3, "measured"), pairs("good", -1, "measured")))
                .as("measured again, and good")
                .isZero();
        assertThat(culprits(pairs("good", -1, "measured"), pairs("bad", 3, "measured")))
                .isEqualTo(1);
    }

    @Test
    void unexplainedCellsAreReadFromTheirFile() throws IOException {
        Path good = pairs("good", -1, "measured");
        Path more = Files.writeString(folder.resolve("more"), """
                {"schema": "pairs/1", "rail": "rail0", "from": "n6", "to": "n1", "outcome": "failed", "cause": "TIMEOUT"}
                {"schema": "pairs/1", "rail": "rail0", "from": "n1", "to": "n7", "outcome": "failed", "cause": "REJECTED"}
                """);
        assertThat(culprits("--json", good, more)).isEqualTo(1);
        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertThat(json.path("causes")).isEmpty();
        assertThat(json.path("unexplained").findValuesAsText("cause")).containsExactlyInAnyOrder("TIMEOUT", "REJECTED");
        assertThat(mistakes(json)).isEmpty();
    }

    @Test
    void nothingWasMeasured() throws IOException {
        assertThat(culprits(pairs("none", -1, "not measured"))).isEqualTo(16);
        assertThat(err.toString())
                .contains("nothing judged: no cell was measured or failed")
                .hasLineCount(1);
        assertThat(culprits(Files.writeString(folder.resolve("empty"), ""))).isEqualTo(16);
    }

    @Test
    void aLineThatWasCutShortIsANote() throws IOException {
        Path file = pairs("cut", -1, "measured");
        String text = Files.readString(file);
        Path cut = Files.writeString(file, text.substring(0, text.length() - 20));
        assertThat(culprits(cut)).isZero();
        assertThat(out.toString()).contains("note: " + cut + ":30 was cut short when it was written, and is left out");
    }

    @Test
    void aFileThatIsNone() throws IOException {
        Path file = Files.writeString(folder.resolve("notes.txt"), "these are no pairs\n");
        assertThat(culprits(file)).isEqualTo(2);
        assertThat(err.toString())
                .contains(file + ":1 is no cell of a pairs.jsonl: ")
                .hasLineCount(1);
        assertThat(culprits(folder.resolve("none"))).isEqualTo(2);
        assertThat(err.toString()).contains("none can't be read: there is no such file");
        assertThat(culprits(folder)).isEqualTo(2);
        assertThat(culprits()).isEqualTo(2);
    }

    @Test
    void aCulpritThatIsNotConfirmedFailsAsWell() throws IOException {
        Path file = pairs("slow.jsonl", 2, "measured");
        String again = "{\"schema\": \"pairs/1\", \"rail\": \"rail0\", \"from\": \"n2\", \"to\": \"n%d\", \"outcome\":"
                + " \"measured\", \"lineRate\": 100e9, \"bandwidth\": %de9, \"confirmation\": true}%n";
        Files.writeString(file, again.formatted(0, 95) + again.formatted(1, 95), StandardOpenOption.APPEND);

        assertThat(culprits(file)).isEqualTo(1);
        assertThat(out.toString()).contains("; not confirmed with n0 and n1: 95 Gb/s");
        assertThat(err.toString())
                .isEqualToIgnoringNewLines(
                        "./rdmatest culprits: fabric failed: 1 culprit in 30 cells: port n2 on rail0, sending");

        Files.writeString(file, again.formatted(0, 40) + again.formatted(1, 40), StandardOpenOption.APPEND);
        assertThat(culprits(file)).isEqualTo(1);
        assertThat(out.toString()).contains("; confirmed with n0 and n1: ");
    }

    /** Returns where the result breaks the schema in the jar; nothing if it does not. */
    private static Set<ValidationMessage> mistakes(JsonNode json) {
        String folder = "classpath:io/rdmatest/report/culprits/";
        return JsonSchemaFactory.getInstance(
                        SpecVersion.VersionFlag.V202012,
                        builder -> builder.schemaMappers(mappers ->
                                mappers.mapPrefix("https://rdmatest.io/schema/pairs/1", folder + "pairs.schema.json")))
                .getSchema(SchemaLocation.of(folder + "culprits.schema.json"))
                .validate(json);
    }
}
