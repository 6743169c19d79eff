package io.rdmatest.report;

import io.rdmatest.junit.SkipReason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The groups of failures in the report: each status of a failed completion is one of its own. */
final class Categories {

    /**
     * A category in Allure's form.
     *
     * @param name what the report calls it
     * @param matchedStatuses the statuses of results that can be in it
     * @param messageRegex what the message of a result looks like that is in it
     */
    record Category(String name, List<String> matchedStatuses, String messageRegex) {}

    private static final List<String> BAD = List.of("failed", "broken");
    private static final List<String> SKIPPED = List.of("skipped");
    private static final String TIMEOUT = "timed out|[Tt]imeout|deadline";
    private static final String EVENT = "RDMA_CM_EVENT_|UnexpectedCmEvent";
    private static final String LEAK = "[Ll]eak|still live|not released";
    private static final String DATA = "[Bb]yte \\S+ (differs|is|was)|differ|mismatch|corrupt";

    private Categories() {}

    static List<Category> all() {
        List<Category> categories = new ArrayList<>();
        completionStatuses()
                .forEach((status, meaning) -> categories.add(
                        new Category(meaning + " (" + status + ")", BAD, "(?s).*\\b" + status + "\\b.*")));
        String known = String.join("|", completionStatuses().keySet());
        categories.add(new Category(
                "Completion with another error status",
                BAD,
                "(?s)(?!.*\\b(?:" + known + ")\\b).*\\bIBV_WC_[A-Z_0-9]+.*"));
        categories.add(new Category("Never finished: JVM or virtual machine ended", BAD, "(?s)started and never.*"));
        String seen = "\\bIBV_WC_|started and never";
        seen = add(categories, "Unexpected connection manager event", EVENT, seen);
        seen = add(categories, "Data differs from what was sent", DATA, seen);
        seen = add(categories, "Leaked resources", LEAK, seen);
        seen = add(categories, "Timed out", TIMEOUT, seen);
        categories.add(
                new Category("Other broken promise of the fabric", List.of("failed"), "(?s)(?!.*(?:" + seen + ")).*"));
        categories.add(new Category("Harness or host broken", List.of("broken"), "(?s)(?!.*(?:" + seen + ")).*"));
        List<String> reasons = Stream.concat(
                        Stream.of(SkipReason.values()).map(SkipReason::toString), Stream.of("not run"))
                .toList();
        for (String reason : reasons) {
            categories.add(new Category("Skipped: " + reason, SKIPPED, "(?s)" + reason + ":.*"));
        }
        categories.add(new Category(
                "Skipped without a class of reason", SKIPPED, "(?s)(?!(?:" + String.join("|", reasons) + "):).*"));
        return categories;
    }

    /** Adds a category for what no earlier one has claimed, so that each failure is counted once. */
    private static String add(List<Category> categories, String name, String pattern, String seen) {
        categories.add(new Category(name, BAD, "(?s)(?!.*(?:" + seen + ")).*(?:" + pattern + ").*"));
        return seen + "|" + pattern;
    }

    private static Map<String, String> completionStatuses() {
        Map<String, String> statuses = new LinkedHashMap<>();
        statuses.put("IBV_WC_LOC_LEN_ERR", "Message longer than the buffer or the path allows");
        statuses.put("IBV_WC_LOC_QP_OP_ERR", "Local queue pair in a wrong state for the operation");
        statuses.put("IBV_WC_LOC_EEC_OP_ERR", "Local end-to-end context error");
        statuses.put("IBV_WC_LOC_PROT_ERR", "Local buffer not covered by its memory region");
        statuses.put("IBV_WC_WR_FLUSH_ERR", "Work flushed: the queue pair had gone to the error state");
        statuses.put("IBV_WC_MW_BIND_ERR", "Memory window could not be bound");
        statuses.put("IBV_WC_BAD_RESP_ERR", "Peer answered with an unexpected packet");
        statuses.put("IBV_WC_LOC_ACCESS_ERR", "Local protection error on incoming data");
        statuses.put("IBV_WC_REM_INV_REQ_ERR", "Peer rejected the request as invalid");
        statuses.put("IBV_WC_REM_ACCESS_ERR", "Peer's memory not accessible: key, bounds or permission");
        statuses.put("IBV_WC_REM_OP_ERR", "Peer could not complete the operation");
        statuses.put("IBV_WC_RETRY_EXC_ERR", "Peer did not acknowledge: retries exhausted");
        statuses.put("IBV_WC_RNR_RETRY_EXC_ERR", "Peer had no receive posted: RNR retries exhausted");
        statuses.put("IBV_WC_LOC_RDD_VIOL_ERR", "Local reliable datagram domain violated");
        statuses.put("IBV_WC_REM_INV_RD_REQ_ERR", "Peer rejected the reliable datagram");
        statuses.put("IBV_WC_REM_ABORT_ERR", "Peer aborted the operation");
        statuses.put("IBV_WC_INV_EECN_ERR", "Invalid end-to-end context number");
        statuses.put("IBV_WC_INV_EEC_STATE_ERR", "Invalid end-to-end context state");
        statuses.put("IBV_WC_FATAL_ERR", "Fatal transport error");
        statuses.put("IBV_WC_RESP_TIMEOUT_ERR", "Peer's response timed out");
        statuses.put("IBV_WC_GENERAL_ERR", "Transport error without further class");
        statuses.put("IBV_WC_TM_ERR", "Tag matching error");
        statuses.put("IBV_WC_TM_RNDV_INCOMPLETE", "Tag matching rendezvous incomplete");
        return statuses;
    }
}
