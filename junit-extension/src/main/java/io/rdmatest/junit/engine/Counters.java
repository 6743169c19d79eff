package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.verbs.DriverQuirks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** What a port's counters were when a test began. */
public final class Counters {

    /**
     * Counters of soft-RoCE that tell of a broken connection. What a loaded host moves in good runs is not among them: a
     * responder that gets no processor time lets the requester's timer run out, so that it repeats what is then a duplicate
     * or out of sequence, and a receiver that is late to post makes it wait.
     */
    private static final Set<String> ERRORS_OF_RXE = Set.of("retry_exceeded_err", "retry_rnr_exceeded_err");

    /**
     * Further counters of soft-RoCE that tell of lost, repeated or refused packets. In the fraction of a second that a small
     * measurement takes, a good fabric increases none of them.
     */
    private static final Set<String> LOSSES_OF_RXE = Set.of(
            "completer_retry_err",
            "duplicate_request",
            "out_of_seq_request",
            "rcvd_seq_err",
            "rcvd_rnr_err",
            "send_rnr_err",
            "send_err");

    /** Counters of devices that do this in hardware, where no repetition is due to a slow host. */
    private static final Set<String> ERRORS = Set.of(
            // mlx5 and mlx4
            "out_of_sequence",
            "packet_seq_err",
            "implied_nak_seq_err",
            "local_ack_timeout_err",
            "rnr_nak_retry_err",
            "duplicate_request",
            "rx_icrc_encapsulated",
            "out_of_buffer",
            // bnxt_re
            "max_retry_exceeded",
            "seq_err_naks_rcvd",
            "rnr_naks_rcvd",
            "to_retransmits",
            // InfiniBand's PortCounters
            "symbol_error",
            "link_error_recovery",
            "link_downed",
            "port_rcv_errors",
            "port_xmit_discards",
            "local_link_integrity_errors",
            "excessive_buffer_overrun_errors");

    private final FabricDevice device;
    private final SortedMap<String, Long> before;

    private Counters(FabricDevice device) {
        this.device = device;
        this.before = device.counters();
    }

    static Counters begin(FabricDevice device) {
        return new Counters(device);
    }

    FabricDevice device() {
        return device;
    }

    SortedMap<String, Long> before() {
        return before;
    }

    SortedMap<String, Long> now() {
        return device.counters();
    }

    /** Returns by how much counters have grown that tell of something amiss, whether a test has to fail for it or not. */
    SortedMap<String, Long> suspicious() {
        return suspicious(before, now(), driver());
    }

    private String driver() {
        return device.device().driver();
    }

    /**
     * Publishes which counters grew, and fails if one of them must not have.
     *
     * @throws FabricError if an error counter grew while no other test ran, and the test was not told to ignore it
     */
    public void judge(ExtensionContext context) {
        judge(context, "", device.toString(), driver(), before, now());
    }

    /**
     * Judges counters of any device, which are wanted.
     *
     * @param where the node of the device, for what is published; empty for this one
     */
    public static void judge(
            ExtensionContext context,
            String where,
            String device,
            String driver,
            Map<String, Long> before,
            Map<String, Long> now) {
        Map<String, Long> growth = suspicious(before, now, driver);
        if (growth.isEmpty()) {
            return;
        }
        context.publishReportEntry(ReportKeys.COUNTERS, where.isEmpty() ? words(growth) : where + ": " + words(growth));
        // Counters are the device's: whose packets they counted can't be told while tests overlap.
        boolean lossless = promisesLossless(context);
        if ((Configuration.of(context).countersFail() || lossless)
                && Life.of(context).isAlone()
                && context.getExecutionException().isEmpty()) {
            Map<String, Long> unexpected = unexpected(growth, driver, context);
            if (!unexpected.isEmpty()) {
                throw new FabricError(
                        lossless ? Cause.PROMISE_BROKEN : Cause.COUNTERS,
                        (lossless ? "the fabric file promises a lossless network, but " : "") + "error counters of "
                                + device + " grew during "
                                + context.getDisplayName() + ": " + words(unexpected)
                                + "; if the test provokes that, annotate it with @IgnoreCounters("
                                + unexpected.keySet().stream()
                                        .map(name -> '"' + name + '"')
                                        .collect(Collectors.joining(", ", unexpected.size() == 1 ? "" : "{", ""))
                                + (unexpected.size() == 1 ? ")" : "})"));
            }
        }
    }

    /** A network that loses nothing gives no cause to repeat anything, whatever else the run thinks of counters. */
    private static boolean promisesLossless(ExtensionContext context) {
        RunDevice device = RunDevice.of(context);
        return device.failure().isEmpty()
                && RequirementCondition.promises(device).lossless();
    }

    private static SortedMap<String, Long> suspicious(Map<String, Long> before, Map<String, Long> now, String driver) {
        SortedMap<String, Long> growth = new TreeMap<>();
        now.forEach((name, value) -> {
            long difference = value - before.getOrDefault(name, value);
            if (difference > 0
                    && (isError(name, driver) || SUSPICIOUS.matcher(name).matches())) {
                growth.put(name, difference);
            }
        });
        return growth;
    }

    private static final Pattern SUSPICIOUS =
            Pattern.compile(".*(err|rnr|retry|retrans|duplicate|out_of|discard|drop|nak|timeout|downed).*");

    /** Tells whether the counter must not grow in a good test on such a device. */
    private static boolean isError(String name, String driver) {
        return (DriverQuirks.repeatsOnASlowHost(driver) ? ERRORS_OF_RXE : ERRORS).contains(name);
    }

    /** Returns those of the counters that tell of packets that were lost, repeated, refused or damaged. */
    public static SortedMap<String, Long> losses(Map<String, Long> increased, String driver) {
        SortedMap<String, Long> losses = new TreeMap<>(increased);
        losses.keySet()
                .removeIf(name -> !isError(name, driver)
                        && !(DriverQuirks.repeatsOnASlowHost(driver) && LOSSES_OF_RXE.contains(name)));
        return losses;
    }

    /** Returns those of the counters that the test was not told to ignore. */
    private static Map<String, Long> unexpected(Map<String, Long> growth, String driver, ExtensionContext context) {
        List<Pattern> ignored = ignored(context);
        SortedMap<String, Long> left = new TreeMap<>(growth);
        left.keySet()
                .removeIf(name -> !isError(name, driver)
                        || ignored.stream()
                                .anyMatch(pattern -> pattern.matcher(name).matches()));
        return left;
    }

    private static List<Pattern> ignored(ExtensionContext context) {
        List<Pattern> patterns = new ArrayList<>();
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            current.get()
                    .getElement()
                    .flatMap(element -> AnnotationSupport.findAnnotation(element, IgnoreCounters.class))
                    .ifPresent(annotation -> {
                        for (String glob : annotation.value()) {
                            patterns.add(pattern(glob));
                        }
                    });
        }
        return patterns;
    }

    static Pattern pattern(String glob) {
        StringBuilder regex = new StringBuilder();
        glob.chars()
                .forEach(c -> regex.append(
                        switch (c) {
                            case '*' -> ".*";
                            case '?' -> ".";
                            default -> Pattern.quote(Character.toString(c));
                        }));
        return Pattern.compile(regex.toString());
    }

    static String words(Map<String, Long> growth) {
        return growth.entrySet().stream()
                .map(entry -> entry.getKey() + " +" + entry.getValue())
                .collect(Collectors.joining(", "));
    }
}
