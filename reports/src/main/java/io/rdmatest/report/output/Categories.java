package io.rdmatest.report.output;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.Cause;
import io.rdmatest.SkipReason;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The groups of failures in the report: one for each {@link Cause}. */
final class Categories {

    /**
     * A category in Allure's form.
     *
     * @param name what the report calls it
     * @param matchedStatuses the statuses of results that can be in it
     * @param messageRegex what the message of a result looks like that is in it; null for any
     * @param traceRegex what its trace looks like; null for any
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Category(
            String name,
            List<String> matchedStatuses,
            @Nullable String messageRegex,
            @Nullable String traceRegex) {}

    private static final List<String> BAD = List.of("failed", "broken");
    private static final List<String> SKIPPED = List.of("skipped");

    /** What the trace of a result begins with; the name of the cause follows, and ends the line. */
    private static final String CAUSE = "cause: ";

    private Categories() {}

    static List<Category> all() {
        List<Category> categories = new ArrayList<>();
        for (Cause cause : Cause.values()) {
            if (cause.verdict() != Cause.Verdict.SKIPPED) {
                categories.add(new Category(cause.category(), BAD, null, "(?s)" + CAUSE + cause.name() + "(\\n.*)?"));
            }
        }
        List<String> reasons = Stream.concat(
                        Stream.of(SkipReason.values()).map(SkipReason::toString), Stream.of("not run"))
                .toList();
        for (String reason : reasons) {
            categories.add(message("Skipped: " + reason, SKIPPED, "(?s)" + reason + ":.*"));
        }
        categories.add(message(
                "Skipped without a class of reason", SKIPPED, "(?s)(?!(?:" + String.join("|", reasons) + "):).*"));
        return categories;
    }

    private static Category message(String name, List<String> statuses, String regex) {
        return new Category(name, statuses, regex, null);
    }

    /** Writes the cause of a failure into a result, in the form that the categories look for. */
    static void mark(ObjectNode result, Cause cause) {
        ObjectNode details = result.withObject("/statusDetails");
        String trace = details.path("trace").asText("");
        details.put("trace", CAUSE + cause.name() + "\n" + trace);
    }
}
