package io.rdmatest.scenarios.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Measurement;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Verdict;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RunTableTests {

    private static final String LONG = "Stream: 64k_bw, " + "a name that is long, ".repeat(6);

    private final List<JournalEvent> events = new ArrayList<>(List.of(JournalEvent.of(Kind.RUN_STARTED)));
    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();

    private static JournalEvent event(Kind kind, String name) {
        return JournalEvent.of(kind).about("[test:" + name + "]", true, name, "X", "x");
    }

    private void scenario(String name, Verdict verdict, @Nullable String reason, Map<String, String> entry) {
        events.add(event(Kind.STARTED, name));
        if (!entry.isEmpty()) {
            events.add(event(Kind.ENTRY, name).withEntry(entry));
        }
        events.add(event(Kind.FINISHED, name).withOutcome(verdict, reason, null));
    }

    private static Map<String, String> measured(Measurement value) {
        List<Map<String, String>> entries = new ArrayList<>();
        new RdmaReport(entries::add).measurement(value);
        return entries.getFirst();
    }

    private QualifyConsole console(boolean verbose, int columns) {
        return new QualifyConsole(new PrintStream(shown, true, StandardCharsets.UTF_8), verbose, columns);
    }

    private List<String> print(boolean verbose, int columns) throws Exception {
        scenario(
                "Connection: refused",
                Verdict.PASSED,
                null,
                measured(Measurement.duration("refusal", Duration.ofNanos(305_457_314))));
        scenario(LONG, Verdict.FAILED, "REM_ACCESS_ERR at the client: " + "and so on, ".repeat(40), Map.of());
        scenario("Multicast: all", Verdict.SKIPPED, "unsupported by the kernel", Map.of());
        events.add(JournalEvent.of(Kind.RUN_FINISHED));
        List<JournalEvent> read = new ArrayList<>();
        for (JournalEvent event : events) {
            read.add(JournalEvent.parse(event.toLine()));
        }
        new RunTable(new PrintStream(shown, true, StandardCharsets.UTF_8), console(verbose, columns))
                .print(Run.of(read), null, "./qualify --last-failed");
        return shown.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private static List<String> rows(List<String> lines) {
        return lines.subList(
                1, lines.indexOf("") == 0 ? lines.subList(1, lines.size()).indexOf("") + 1 : 1);
    }

    @Test
    void allScenariosAreListedWhereNoTerminalShowedThem() throws Exception {
        List<String> rows = rows(print(false, 0));

        assertThat(rows).hasSize(4);
        assertThat(rows.get(1)).startsWith("Connection: refused ").endsWith("  refusal 305 ms");
        assertThat(rows.get(2)).hasSizeGreaterThan(160).endsWith("...");
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 80, 132})
    void onATerminalOnlyScenariosThatDidNotPassAreListedAndNoRowIsWider(int columns) throws Exception {
        List<String> rows = rows(print(false, columns));

        assertThat(rows).hasSize(4).noneMatch(row -> row.contains("refused"));
        assertThat(rows).allMatch(row -> row.length() < columns);
        assertThat(rows.getLast()).isEqualTo("The other scenarios passed: -v lists them.");
    }

    @Test
    void onAVerboseTerminalAllAreListed() throws Exception {
        assertThat(rows(print(true, 80))).hasSize(4).anyMatch(row -> row.startsWith("Connection: refused "));
    }

    @Test
    void aTerminalShowsWhatRunsInOneLineAndTheTimeThatIsLeft() {
        QualifyConsole console = console(false, 60);
        console.expect(Duration.ofMinutes(4));
        console.show(event(Kind.STARTED, LONG));
        console.showLive();

        assertThat(shown.toString(StandardCharsets.UTF_8))
                .matches("\r\u001b\\[K\\[  1\\] Stream: 64k_bw, .*\\.\\.\\.  0 s, about 4 min left")
                .hasSize(4 + 59);
    }

    @Test
    void aRunThatTakesLongerThanTheLastOneHasNoTimeThatIsLeft() {
        QualifyConsole console = console(false, 60);
        console.expect(Duration.ZERO);
        console.showLive();

        assertThat(shown.toString(StandardCharsets.UTF_8)).endsWith("[  1] starting  0 s");
    }
}
