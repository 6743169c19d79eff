package io.rdmatest.report.culprits;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import java.io.IOException;
import java.util.Set;

/** The schemas of the files, as they are in the jar. */
public final class Schemas {

    private static final JsonSchemaFactory FACTORY = JsonSchemaFactory.getInstance(
            SpecVersion.VersionFlag.V202012,
            builder -> builder.schemaMappers(mappers -> mappers.mapPrefix(
                            "https://rdmatest.io/schema/pairs/1",
                            "classpath:io/rdmatest/report/culprits/pairs.schema.json")
                    .mapPrefix(
                            "https://rdmatest.io/schema/culprits/1",
                            "classpath:io/rdmatest/report/culprits/culprits.schema.json")));

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Schemas() {}

    /** Returns what is wrong with a line of {@code pairs.jsonl}; nothing if it is right. */
    public static Set<ValidationMessage> mistakesOfPair(String line) throws IOException {
        return mistakes("pairs/1", MAPPER.readTree(line));
    }

    /** Returns what is wrong with what {@code culprits --json} printed; nothing if it is right. */
    public static Set<ValidationMessage> mistakesOfCulprits(JsonNode json) {
        return mistakes("culprits/1", json);
    }

    private static Set<ValidationMessage> mistakes(String schema, JsonNode json) {
        JsonSchema known = FACTORY.getSchema(SchemaLocation.of("https://rdmatest.io/schema/" + schema));
        return known.validate(json);
    }
}
