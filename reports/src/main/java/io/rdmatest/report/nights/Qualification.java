package io.rdmatest.report.nights;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.Measurement.Kind;
import io.rdmatest.ReportKeys;
import io.rdmatest.verbs.DriverQuirks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The content of a {@code qualification.json}, the summary of a run.
 *
 * @param file where it is from
 * @param environment what was qualified: device, firmware, kernel and the like
 * @param scenarios the scenarios by name, in the order of the file; if several have the same name, those after the first are
 *     numbered
 * @param ids the ids of the scenarios, by name, which stay the same when names change
 * @param settings what the run was configured by, such as {@code rdma.pairs.size}; empty where the file says none
 * @param partial whether a selection left scenarios out
 */
public record Qualification(
        Path file,
        Map<String, String> environment,
        Map<String, Scenario> scenarios,
        Map<String, String> ids,
        Map<String, String> settings,
        boolean partial) {

    /**
     * The result of a scenario.
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

    /** The version of the form that this build writes and reads. */
    public static final int SCHEMA_VERSION = 3;

    /** Clocks of two hosts differ by less. */
    private static final Duration CLOCKS = Duration.ofHours(1);

    /** Words in the place of a driver's name, see {@link io.rdmatest.verbs.RdmaDevice#driver()}. */
    private static final Set<String> NO_DRIVERS = Set.of("", "unknown", "stand-in");

    /** Copies the maps. */
    public Qualification {
        environment = Collections.unmodifiableMap(new TreeMap<>(environment));
        scenarios = Collections.unmodifiableMap(new LinkedHashMap<>(scenarios));
        ids = Map.copyOf(ids);
        settings = Map.copyOf(settings);
    }

    /** Creates one whose scenarios have names only. */
    public Qualification(Path file, Map<String, String> environment, Map<String, Scenario> scenarios) {
        this(file, environment, scenarios, Map.of(), Map.of(), false);
    }

    /**
     * Reads one.
     *
     * @throws IOException if it can't be read or is none; the message says so
     */
    public static Qualification read(Path file) throws IOException {
        return of(file, json(file));
    }

    private static JsonNode json(Path file) throws IOException {
        try {
            return new ObjectMapper().readTree(Files.readAllBytes(file));
        } catch (JsonProcessingException e) {
            throw new IOException(file + " is no qualification.json: " + e.getOriginalMessage(), e);
        } catch (NoSuchFileException e) {
            throw new IOException(file + " can't be read: there is no such file", e);
        } catch (IOException e) {
            throw new IOException(file + " can't be read: " + e, e);
        }
    }

    /**
     * Returns the start of a run that begins after now, as where the clock of its host was wrong. Every later run would count as
     * earlier than it.
     *
     * @return when it began; null if that is not in the future or is unknown
     */
    private static @Nullable Instant future(JsonNode json) {
        try {
            Instant start = Instant.parse(json.path("start").asText());
            return start.isAfter(Instant.now().plus(CLOCKS)) ? start : null;
        } catch (DateTimeParseException e) {
            return null;
        }
    }

    /** Returns whether a summary is of a run that begins after now; false if it can't be read. */
    static boolean isFromFuture(Path file) {
        try {
            return future(json(file)) != null;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Reads the latest of several.
     *
     * @param files each of them one, or a folder: of that, all that {@link Archive} says without partial runs; none if it has
     *     none yet
     * @param most how many of each kind at most, rehearsals and others, 1 or more; only a run of the same kind is
     *     {@linkplain #comparable comparable}
     * @param note takes a sentence for each summary that is left out: one in a folder that can't be read, and one of a run in
     *     the future
     * @return the summaries, the latest last
     * @throws IOException if one that is named can't be read or is none; the message names it
     */
    public static List<Qualification> readAll(List<Path> files, int most, Consumer<String> note) throws IOException {
        List<Path> all = new ArrayList<>();
        for (Path file : files) {
            all.addAll(Files.isDirectory(file) ? Archive.summaries(file) : List.of(file));
        }
        List<Qualification> runs = new ArrayList<>();
        for (Path file : all.reversed()) {
            if (runs.size() == 2 * most) {
                break;
            }
            try {
                JsonNode json = json(file);
                Instant future = future(json);
                if (future != null) {
                    note.accept("Left out: " + file + " is of a run in the future, " + future
                            + ". Set the clock of its host, or of this one.");
                    continue;
                }
                Qualification run = of(file, json);
                // The values of some scenarios alone are not those of a whole run, whose code the JVM has compiled by
                // then.
                if ((!run.partial() || files.contains(file))
                        && runs.stream()
                                        .filter(each -> each.isRehearsal() == run.isRehearsal())
                                        .count()
                                < most) {
                    runs.add(run);
                }
            } catch (IOException e) {
                if (files.contains(file)) {
                    throw e;
                }
                note.accept("Left out: " + e.getMessage());
            }
        }
        return List.copyOf(runs.reversed());
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
        int version = json.path("schemaVersion").asInt(1);
        if (version != SCHEMA_VERSION) {
            throw new IOException(
                    version > SCHEMA_VERSION
                            ? "%s has schemaVersion %d, and this build of rdmatest reads version %d"
                                    .formatted(file, version, SCHEMA_VERSION)
                            : "%s was written by an older rdmatest: run ./qualify again".formatted(file));
        }
        Map<String, String> environment = new LinkedHashMap<>();
        json.path("environment")
                .properties()
                .forEach(each -> environment.put(each.getKey(), each.getValue().asText()));
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        Map<String, String> ids = new HashMap<>();
        for (JsonNode each : json.path("scenarios")) {
            String unique = unique(each.path("name").asText(), scenarios.keySet());
            scenarios.put(unique, scenario(file, each));
            JsonNode id = each.path("id");
            if (id.isTextual()) {
                ids.put(unique, id.asText());
            }
        }
        Map<String, String> settings = new HashMap<>();
        json.path("settings")
                .properties()
                .forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        return new Qualification(file, environment, scenarios, ids, settings, json.has("selected"));
    }

    /**
     * Returns a name of a scenario, with a number if it is taken.
     *
     * @param name the name
     * @param taken the names of the scenarios before it
     */
    public static String unique(String name, Set<String> taken) {
        String unique = name;
        for (int turn = 2; taken.contains(unique); turn++) {
            unique = name + " (" + turn + ")";
        }
        return unique;
    }

    private static Scenario scenario(Path file, JsonNode json) throws IOException {
        Map<String, Measurement> measurements = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> each : json.path("measurements").properties()) {
            String name = each.getKey();
            JsonNode members = each.getValue();
            if (members.path("value").isNumber()) {
                measurements.put(name, measurement(file, name, members));
            }
        }
        JsonNode reason = json.path("reason");
        return new Scenario(json.path("verdict").asText("?"), reason.isTextual() ? reason.asText() : "", measurements);
    }

    private static Measurement measurement(Path file, String name, JsonNode members) throws IOException {
        JsonNode percentile = members.path("percentile");
        try {
            return new Measurement(
                    name,
                    Kind.valueOf(members.path("kind").asText().toUpperCase(Locale.ROOT)),
                    members.path("value").asDouble(),
                    members.path("unit").asText(),
                    Better.valueOf(members.path("better").asText().toUpperCase(Locale.ROOT)),
                    percentile.isNumber() ? percentile.asDouble() : null,
                    members.path("samples").asLong(0));
        } catch (IllegalArgumentException e) {
            throw new IOException(
                    "%s is no qualification.json: measurement \"%s\": %s".formatted(file, name, e.getMessage()), e);
        }
    }

    /** Returns whether it was on a software device: in virtual machines of the project, or on the host itself. */
    public boolean isRehearsal() {
        return isRehearsal(environment);
    }

    /** Returns whether a run with this environment was on a software device. */
    public static boolean isRehearsal(Map<String, String> environment) {
        return environment.containsKey(ReportKeys.MACHINE)
                || DriverQuirks.isSoftware(environment.getOrDefault("driver", ""));
    }

    /**
     * Returns which of several runs may be compared with a later one: rehearsals with a rehearsal, and others with others.
     *
     * @param before the earlier runs
     * @param now the later one
     * @param note takes a sentence if some are left out
     */
    public static List<Qualification> comparable(List<Qualification> before, Qualification now, Consumer<String> note) {
        List<Qualification> alike = before.stream()
                .filter(run -> run.isRehearsal() == now.isRehearsal())
                .toList();
        int others = before.size() - alike.size();
        if (others > 0) {
            note.accept("Not compared: %d earlier %s %s, and this run is %s."
                    .formatted(
                            others,
                            others == 1 ? "run is" : "runs are",
                            now.isRehearsal() ? "no rehearsal" : others == 1 ? "a rehearsal" : "rehearsals",
                            now.isRehearsal() ? "one" : "none"));
        }
        return alike;
    }

    /** Returns whether it was on RDMA hardware, as far as it says so. */
    public boolean isOnHardware() {
        return !isRehearsal() && !NO_DRIVERS.contains(environment.getOrDefault("driver", ""));
    }

    /**
     * Returns what it says of some scenarios.
     *
     * @param names theirs
     */
    public Qualification only(Set<String> names) {
        Map<String, Scenario> some = new LinkedHashMap<>(scenarios);
        some.keySet().retainAll(names);
        return new Qualification(file, environment, some, ids, settings, partial);
    }

    /**
     * Returns the same run, with the names that its scenarios have in a later one: those with the same id are the same.
     *
     * @param later the later run
     */
    Qualification withNamesOf(Qualification later) {
        Map<String, String> names = new HashMap<>();
        later.ids().forEach((name, id) -> names.put(id, name));
        Map<String, Scenario> renamed = new LinkedHashMap<>();
        Map<String, String> renamedIds = new HashMap<>();
        scenarios.forEach((name, scenario) -> {
            String id = ids.get(name);
            String now = later.scenarios().containsKey(name) || id == null ? name : names.getOrDefault(id, name);
            // A scenario that already has this name keeps it.
            String shown = now.equals(name) || scenarios.containsKey(now) ? name : now;
            renamed.put(shown, scenario);
            if (id != null) {
                renamedIds.put(shown, id);
            }
        });
        return new Qualification(file, environment, renamed, renamedIds, settings, partial);
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
