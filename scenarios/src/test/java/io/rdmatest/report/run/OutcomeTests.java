package io.rdmatest.report.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.ReportKeys;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.scenarios.qualify.Ending;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;

/** What a run says about the fabric, and what it does not. */
class OutcomeTests {

    private final List<JournalEvent> events = new ArrayList<>();

    private void scenario(String id, Verdict verdict, @Nullable String reason, @Nullable Cause cause) {
        events.add(JournalEvent.of(Kind.STARTED).about(id, true, id, "a.B", "m"));
        events.add(JournalEvent.of(Kind.FINISHED)
                .about(id, true, id, "a.B", "m")
                .withOutcome(verdict, reason, null)
                .withCause(cause));
    }

    @Test
    void theStatusOfARunIsThatOfItsOutcomeAndThenOfItsComparison() {
        assertThat(Ending.status(Outcome.QUALIFIED, true, 0, false)).isZero();
        assertThat(Ending.status(Outcome.QUALIFIED, true, 14, false)).isEqualTo(14);
        assertThat(Ending.status(Outcome.QUALIFIED, true, 15, false)).isEqualTo(15);
        assertThat(Ending.status(Outcome.QUALIFIED, true, 14, true)).isZero();
        assertThat(Ending.status(Outcome.NOT_QUALIFIED, true, 14, true)).isEqualTo(1);
        assertThat(Ending.status(Outcome.INCONCLUSIVE, true, 0, false)).isEqualTo(4);
        // What is not all recorded is nothing to rely on.
        assertThat(Ending.status(Outcome.QUALIFIED, false, 0, true)).isEqualTo(3);
        assertThat(Ending.status(Outcome.NOT_QUALIFIED, false, 0, false)).isEqualTo(3);
    }

    @Test
    void whatWasJudgedPassed() {
        scenario("one", Verdict.PASSED, null, null);
        scenario("two", Verdict.SKIPPED, "not selected: the fabric has no thresholds", null);
        scenario("three", Verdict.SKIPPED, "not selected: the fabric has no thresholds\nmore", null);
        Run run = Run.of(events);

        assertThat(run.outcome()).isEqualTo(Outcome.QUALIFIED);
        assertThat(run.outcome().status()).isZero();
        assertThat(run.outcomeReason()).isEqualTo("The one scenario that was judged passed.");
        assertThat(run.notJudged()).containsExactly("2 scenarios: not selected: the fabric has no thresholds");
    }

    @Test
    void whatAScenarioLeftOutByRequestIsTold() {
        events.add(JournalEvent.of(Kind.STARTED).about("one", true, "one", "a.B", "m"));
        events.add(JournalEvent.of(Kind.ENTRY)
                .about("one", true, "one", "a.B", "m")
                .withEntry(Map.of(ReportKeys.PARAMETER, "rail0 left out", ReportKeys.VALUE, "2 of 18 rounds")));
        events.add(JournalEvent.of(Kind.FINISHED)
                .about("one", true, "one", "a.B", "m")
                .withOutcome(Verdict.PASSED, null, null));
        Run run = Run.of(events);

        assertThat(run.outcome()).isEqualTo(Outcome.QUALIFIED);
        assertThat(run.outcomeReason())
                .isEqualTo("The one scenario that was judged passed. Of one, rail0 left out: 2 of 18 rounds.");
        assertThat(run.notJudged()).containsExactly("one, rail0 left out: 2 of 18 rounds");
    }

    @Test
    void aRunThatJudgedNothingIsNoSuccess() {
        scenario("two", Verdict.SKIPPED, "not selected: the fabric has no thresholds", null);
        Run run = Run.of(events);

        assertThat(run.outcome()).isEqualTo(Outcome.INCONCLUSIVE);
        assertThat(run.outcome().status()).isEqualTo(4);
        assertThat(run.outcomeReason()).isEqualTo("Nothing was judged: no scenario was run.");
    }

    @Test
    void whatIsBrokenSaysNothingAboutTheFabric() {
        scenario("one", Verdict.PASSED, null, null);
        scenario("two", Verdict.BROKEN, "left 1 native object behind", Cause.LEAK);

        assertThat(Run.of(events).outcome()).isEqualTo(Outcome.INCONCLUSIVE);

        scenario("three", Verdict.FAILED, "byte 3 differs", Cause.WRONG_DATA);
        assertThat(Run.of(events).outcome()).isEqualTo(Outcome.NOT_QUALIFIED);
        assertThat(Run.of(events).outcomeReason()).isEqualTo("The fabric failed 1 scenario of 3.");
    }

    @Test
    void aRunThatEndedEarlyIsInconclusive() {
        scenario("one", Verdict.PASSED, null, null);
        assertThat(Run.of(events).thatEndedEarly().outcome()).isEqualTo(Outcome.INCONCLUSIVE);
        events.add(0, JournalEvent.of(Kind.PLANNED).about("late", true, "late", "a.B", "m"));
        assertThat(Run.of(events).outcome()).isEqualTo(Outcome.INCONCLUSIVE);
        assertThat(Run.of(events).outcomeReason()).isEqualTo("The run ended before 1 scenario.");
    }

    @Test
    void theSummaryHasOutcomeAndCauses() {
        scenario("one", Verdict.FAILED, "retries exhausted", Cause.RETRY_EXCEEDED);
        scenario("two", Verdict.PASSED, null, null);
        events.add(JournalEvent.of(Kind.STARTED).about("three", true, "three", "a.B", "m"));
        JsonNode json = new ObjectMapper().valueToTree(Run.of(events));

        assertThat(json.path("outcome").asText()).isEqualTo("not qualified");
        assertThat(json.at("/scenarios/0/cause").asText()).isEqualTo("RETRY_EXCEEDED");
        assertThat(json.at("/scenarios/1").has("cause")).isFalse();
        assertThat(json.at("/scenarios/2/cause").asText()).isEqualTo("NEVER_FINISHED");
        assertThat(json.has("endedEarly")).isFalse();
    }

    /** Whatever the type of the exception. */
    @Test
    void theCauseDecidesTheVerdict() {
        TestExecutionResult failed = TestExecutionResult.failed(new RdmaException(Cause.PEER_LOST, "gone"));
        assertThat(Verdict.of(failed, Cause.PEER_LOST)).isEqualTo(Verdict.FAILED);
        assertThat(Verdict.of(failed, Cause.LEAK)).isEqualTo(Verdict.BROKEN);
        assertThat(Verdict.of(TestExecutionResult.successful(), null)).isEqualTo(Verdict.PASSED);
    }
}
