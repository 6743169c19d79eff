package io.rdmatest.scenarios.qualify;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.output.ReportGenerator;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Verdict;
import io.rdmatest.scenarios.runner.Selection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The last run, as {@code --last-failed} needs it.
 *
 * @param file its summary
 * @param end when it ended, in a form that sorts as times do; empty if the summary does not say it
 * @param outcome its outcome in words; empty if the summary does not say it
 * @param took how long it took; null if the summary does not say it
 * @param fabric the name of its fabric; null if the summary does not say it
 * @param scenarios how many scenarios it has
 * @param failed the patterns that select its failed and broken scenarios, see {@link Selection}
 * @param passed the patterns that select those that passed
 * @param settings the settings of the run
 */
record LastRun(
        Path file,
        String end,
        String outcome,
        @Nullable Duration took,
        @Nullable String fabric,
        int scenarios,
        List<String> failed,
        List<String> passed,
        Map<String, String> settings) {

    /**
     * Reads it.
     *
     * @param reports the folder of the reports
     * @throws IOException if there is no last run, or its summary can't be read; the message says what to do
     */
    static LastRun read(Path reports) throws IOException {
        Path whole = reports.resolve(ReportGenerator.SUMMARY);
        Path partial = partial(reports).resolve(ReportGenerator.SUMMARY);
        if (!Files.exists(partial)) {
            return of(whole);
        }
        LastRun part = of(partial);
        if (!Files.exists(whole)) {
            return part;
        }
        LastRun run = of(whole);
        if (part.end.compareTo(run.end) <= 0) {
            return run;
        }
        if (!part.failed.isEmpty()) {
            return part;
        }
        // What the partial run did not judge has still failed.
        List<String> left =
                run.failed.stream().filter(each -> !part.passed.contains(each)).toList();
        return left.isEmpty()
                ? part
                : new LastRun(
                        run.file,
                        run.end,
                        run.outcome,
                        run.took,
                        run.fabric,
                        run.scenarios,
                        left,
                        run.passed,
                        run.settings);
    }

    /** Returns the folder of the results of runs of some scenarios only, which leave those of the last whole run as they are. */
    static Path partial(Path reports) {
        return reports.resolve("partial");
    }

    /** Returns the last whole run; null if there is none that can be read. */
    static @Nullable LastRun whole(Path reports) {
        try {
            return of(reports.resolve(ReportGenerator.SUMMARY));
        } catch (IOException e) {
            return null;
        }
    }

    private static LastRun of(Path file) throws IOException {
        if (!Files.exists(file)) {
            throw new IOException(
                    "there is no last run: " + file
                            + " does not exist; run ./qualify without --last-failed, or name the folder of its report with --output");
        }
        JsonNode json;
        try {
            json = new ObjectMapper().readTree(Files.readAllBytes(file));
        } catch (JsonProcessingException e) {
            throw new IOException(
                    file + " is no qualification.json: " + e.getOriginalMessage()
                            + "; run ./qualify without --last-failed",
                    e);
        }
        if (!json.path("scenarios").isArray()) {
            throw new IOException(
                    file + " is no qualification.json: it has no scenarios; run ./qualify without --last-failed");
        }
        Map<String, String> settings = new LinkedHashMap<>();
        json.path("settings")
                .properties()
                .forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        return new LastRun(
                file,
                json.path("end").asText(""),
                json.path("outcome").asText(""),
                took(json),
                json.at("/fabric/name").isTextual() ? json.at("/fabric/name").asText() : null,
                json.path("scenarios").size(),
                patterns(json, Verdict.FAILED, Verdict.BROKEN),
                patterns(json, Verdict.PASSED),
                settings);
    }

    private static @Nullable Duration took(JsonNode json) {
        try {
            return Duration.between(
                    Instant.parse(json.path("start").asText()),
                    Instant.parse(json.path("end").asText()));
        } catch (DateTimeParseException e) {
            return null;
        }
    }

    /** Returns the patterns that select the scenarios with a verdict. */
    private static List<String> patterns(JsonNode json, Verdict... verdicts) {
        List<String> wanted = Arrays.stream(verdicts).map(Verdict::toString).toList();
        List<String> patterns = new ArrayList<>();
        for (JsonNode scenario : json.path("scenarios")) {
            if (wanted.contains(scenario.path("verdict").asText())) {
                JsonNode id = scenario.path("id");
                patterns.add(
                        id.isTextual()
                                ? Selection.ID + withoutNumber(id.asText())
                                : Selection.NAME + scenario.path("name").asText());
            }
        }
        return patterns.stream().distinct().toList();
    }

    /**
     * Returns an id without its number. Only the run numbers invocations with the same name, so all of them run again.
     */
    private static String withoutNumber(String id) {
        return id.replaceFirst("(?<=\\]) \\(\\d+\\)$", "");
    }

    /** Returns the exit status of a run of what failed, if nothing did. */
    int statusIfNothingFailed() {
        Outcome known = Outcome.of(outcome);
        return known == null ? Outcome.QUALIFIED.status() : known.status();
    }
}
