package io.rdmatest.report.qualify;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.output.ReportGenerator;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Verdict;
import io.rdmatest.report.runner.Selection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The last run, as {@code --last-failed} needs it.
 *
 * @param file its summary
 * @param outcome its outcome in words; empty if the summary does not say it
 * @param failed the patterns that select its failed and broken scenarios, see {@link Selection}
 * @param settings the settings of the run
 */
record LastRun(Path file, String outcome, List<String> failed, Map<String, String> settings) {

    /**
     * The summary of the previous run, while the next run has none yet. The file is hidden, so that a baseline does not
     * take it for a run.
     */
    private static final String PREVIOUS = ".qualification.previous.json";

    /**
     * Reads it.
     *
     * @param reports the folder of the reports
     * @throws IOException if there is no last run, or its summary can't be read; the message says what to do
     */
    static LastRun read(Path reports) throws IOException {
        Path file = reports.resolve(ReportGenerator.SUMMARY);
        if (!Files.exists(file) && Files.exists(reports.resolve(PREVIOUS))) {
            // The run after it ended without a summary.
            file = reports.resolve(PREVIOUS);
        }
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
        List<String> failed = new ArrayList<>();
        for (JsonNode scenario : json.path("scenarios")) {
            String verdict = scenario.path("verdict").asText();
            if (verdict.equals(Verdict.FAILED.toString()) || verdict.equals(Verdict.BROKEN.toString())) {
                JsonNode id = scenario.path("id");
                failed.add(
                        id.isTextual()
                                ? Selection.ID + withoutNumber(id.asText())
                                : Selection.NAME + scenario.path("name").asText());
            }
        }
        Map<String, String> settings = new LinkedHashMap<>();
        json.path("settings")
                .properties()
                .forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        return new LastRun(
                file,
                json.path("outcome").asText(""),
                failed.stream().distinct().toList(),
                settings);
    }

    /**
     * Returns an id without its number. Only the run numbers invocations with the same name, so all of them run again.
     */
    private static String withoutNumber(String id) {
        return id.replaceFirst("(?<=\\]) \\(\\d+\\)$", "");
    }

    /** Returns the exit status of a run of what failed, if nothing did. */
    int statusIfNothingFailed() {
        return Arrays.stream(Outcome.values())
                .filter(each -> each.toString().equals(outcome))
                .mapToInt(Outcome::status)
                .findFirst()
                .orElse(Outcome.QUALIFIED.status());
    }

    /** Keeps the summary under another name. If the next run ends without a summary, this run is still the last one. */
    static void keep(Path reports) throws IOException {
        Path file = reports.resolve(ReportGenerator.SUMMARY);
        if (Files.exists(file)) {
            Path ignored = Files.move(file, reports.resolve(PREVIOUS), StandardCopyOption.REPLACE_EXISTING);
        }
    }
}
