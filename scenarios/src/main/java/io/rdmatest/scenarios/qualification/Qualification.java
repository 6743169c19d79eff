package io.rdmatest.scenarios.qualification;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What a {@code qualification.json} says of a run.
 *
 * @param file where it is from
 * @param environment what was qualified: device, firmware, kernel and the like
 * @param scenarios by their names, in the order of the file; of several with the same name, those after the first are numbered
 */
public record Qualification(Path file, Map<String, String> environment, Map<String, Scenario> scenarios) {

    /**
     * What became of a scenario.
     *
     * @param verdict {@code passed}, {@code failed}, {@code broken} or {@code skipped}
     * @param reason why it did not pass; empty where it says none
     * @param measurements by their names
     */
    public record Scenario(String verdict, String reason, Map<String, Measurement> measurements) {

        /** Copies the map. */
        public Scenario {
            measurements = Collections.unmodifiableMap(new LinkedHashMap<>(measurements));
        }
    }

    /**
     * A value and its unit.
     *
     * @param value the number
     * @param unit such as {@code us} or {@code Gb/s}; empty if it has none
     */
    public record Measurement(double value, String unit) {}

    /** Copies the maps. */
    public Qualification {
        environment = Collections.unmodifiableMap(new TreeMap<>(environment));
        scenarios = Collections.unmodifiableMap(new LinkedHashMap<>(scenarios));
    }

    /**
     * Reads one.
     *
     * @throws IOException if it can't be read or is none; the message says so
     */
    public static Qualification read(Path file) throws IOException {
        JsonNode json;
        try {
            json = new ObjectMapper().readTree(Files.readAllBytes(file));
        } catch (JsonProcessingException e) {
            throw new IOException(file + " is no qualification.json: " + e.getOriginalMessage(), e);
        } catch (NoSuchFileException e) {
            throw new IOException(file + " can't be read: there is no such file", e);
        } catch (IOException e) {
            throw new IOException(file + " can't be read: " + e, e);
        }
        return of(file, json);
    }

    /**
     * Reads several.
     *
     * @param files each of them one, or a folder: of that, all files whose names end with {@code .json}, by their names; none if
     *     it has none yet
     * @throws IOException if one can't be read or is none; the message names it
     */
    public static List<Qualification> readAll(List<Path> files) throws IOException {
        List<Qualification> runs = new ArrayList<>();
        for (Path file : files) {
            for (Path each : Files.isDirectory(file) ? filesIn(file) : List.of(file)) {
                runs.add(read(each));
            }
        }
        return runs;
    }

    private static List<Path> filesIn(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.filter(entry -> entry.getFileName().toString().endsWith(".json"))
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            throw new IOException(folder + " can't be read: " + e, e);
        }
    }

    /**
     * Takes what such a file holds.
     *
     * @param file what it is called by
     * @param json its content
     * @throws IOException if it is none; the message says so
     */
    public static Qualification of(Path file, JsonNode json) throws IOException {
        if (!json.path("scenarios").isArray() || !json.path("environment").isObject()) {
            throw new IOException(file + " is no qualification.json: it has no environment and scenarios");
        }
        Map<String, String> environment = new LinkedHashMap<>();
        json.path("environment")
                .properties()
                .forEach(each -> environment.put(each.getKey(), each.getValue().asText()));
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        for (JsonNode each : json.path("scenarios")) {
            String name = each.path("name").asText();
            String unique = name;
            for (int turn = 2; scenarios.containsKey(unique); turn++) {
                unique = name + " (" + turn + ")";
            }
            scenarios.put(unique, scenario(each));
        }
        return new Qualification(file, environment, scenarios);
    }

    private static Scenario scenario(JsonNode json) {
        Map<String, Measurement> measurements = new LinkedHashMap<>();
        json.path("measurements").properties().forEach(each -> {
            JsonNode value = each.getValue().path("value");
            if (value.isNumber()) {
                measurements.put(
                        each.getKey(),
                        new Measurement(
                                value.asDouble(), each.getValue().path("unit").asText("")));
            }
        });
        JsonNode reason = json.path("reason");
        return new Scenario(json.path("verdict").asText("?"), reason.isTextual() ? reason.asText() : "", measurements);
    }

    /**
     * Returns what it says of some scenarios.
     *
     * @param names theirs
     */
    public Qualification only(Set<String> names) {
        Map<String, Scenario> some = new LinkedHashMap<>(scenarios);
        some.keySet().retainAll(names);
        return new Qualification(file, environment, some);
    }

    /** Returns how many scenarios there are of each verdict, as in {@code 205 scenarios: 194 passed, 11 skipped}. */
    public String counts() {
        Map<String, Integer> counts = new LinkedHashMap<>();
        List.of("passed", "failed", "broken", "skipped").forEach(verdict -> counts.put(verdict, 0));
        scenarios.values().forEach(each -> counts.merge(each.verdict(), 1, Integer::sum));
        List<String> parts = new ArrayList<>();
        counts.forEach((verdict, count) -> {
            if (count > 0) {
                parts.add(count + " " + verdict);
            }
        });
        return scenarios.size()
                + (scenarios.size() == 1 ? " scenario" : " scenarios")
                + (parts.isEmpty() ? "" : ": " + String.join(", ", parts));
    }
}
