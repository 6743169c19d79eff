package io.rdmatest.scenarios.cli;

import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.command.JsonCommand;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.wire.CmMessage;
import io.rdmatest.wire.WireJudge;
import io.rdmatest.wire.WireReport;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Judges the packets of capture files. */
@Command(
        name = "wire",
        sortOptions = false,
        description = {
            "Judges the RoCE packets of captures against the rules of the protocol, and counts marks of congestion. Reads pcap and"
                    + " pcapng of Ethernet, IP and \"any\" interfaces, also if gzip compressed them, from files and pipes.",
            "A capture may begin and end anywhere, have one direction only, and lack packets: only what is in it can be a"
                    + " violation, and what can't be judged is counted by its reason. Ends with 1 if packets break the rules, 2 if"
                    + " a file can't be read, and 16 if a file has nothing that can be judged."
        })
final class WireCommand extends JsonCommand {

    /** The result for a file: its report, or why it can't be read. */
    private record Judged(Path file, WireReport report, String unreadable) {

        private static final WireReport NONE = new WireJudge().finish();

        static Judged of(Path file, boolean whole) {
            try {
                return new Judged(file, whole ? WireJudge.judgeWhole(file) : WireJudge.judge(file), "");
            } catch (IOException e) {
                String message = String.valueOf(e.getMessage());
                // Those of the file system name the file, or nothing else.
                return new Judged(
                        file,
                        NONE,
                        message.startsWith(file.toString())
                                        && message.length() > file.toString().length()
                                ? message
                                : file + " can't be read: " + e);
            }
        }

        ExitStatus status() {
            if (!unreadable.isEmpty()) {
                return ExitStatus.USAGE;
            }
            if (!report.isClean()) {
                return ExitStatus.FABRIC_FAILED;
            }
            return report.judged() == 0 ? ExitStatus.NOTHING_JUDGED : ExitStatus.VERIFIED;
        }
    }

    private static final Path STANDARD_INPUT = Path.of("/dev/stdin");

    /** The exit status is the first of these that any file has. */
    private static final List<ExitStatus> WORST_FIRST =
            List.of(ExitStatus.FABRIC_FAILED, ExitStatus.USAGE, ExitStatus.NOTHING_JUDGED, ExitStatus.VERIFIED);

    @Parameters(
            arity = "1..*",
            paramLabel = "<file>",
            description = "The captures. Each is judged by itself. - is standard input.")
    private List<Path> files = List.of();

    @Option(
            names = "--whole",
            description =
                    "The files have every packet of their exchanges, from before the first to after the last one. A packet or"
                            + " an answer that is missing is then a violation.")
    private boolean whole;

    @Override
    protected boolean needsDevice() {
        return false;
    }

    @Override
    protected void check() {}

    @Override
    protected Outcome execute() {
        List<Judged> all = files.stream()
                .map(file -> Judged.of(file.toString().equals("-") ? STANDARD_INPUT : file, whole))
                .toList();
        ExitStatus status = WORST_FIRST.stream()
                .filter(each -> all.stream().anyMatch(judged -> judged.status() == each))
                .findFirst()
                .orElse(ExitStatus.VERIFIED);
        List<String> lines = new ArrayList<>();
        all.forEach(judged -> lines.addAll(lines(judged)));
        return new Outcome(
                status,
                message(status, all),
                lines,
                Map.of("files", all.stream().map(WireCommand::fields).toList()));
    }

    private static String message(ExitStatus status, List<Judged> all) {
        List<Judged> those =
                all.stream().filter(each -> each.status() == status).toList();
        Judged first = those.getFirst();
        String what = switch (status) {
            case FABRIC_FAILED ->
                "packets of %s break the rules: %s"
                        .formatted(first.file(), first.report().violations().getFirst());
            case USAGE -> first.unreadable();
            case NOTHING_JUDGED ->
                "%s has no RoCE packet that can be judged, among %d packets"
                        .formatted(first.file(), first.report().packets());
            default -> "no packet breaks the rules, in what could be judged";
        };
        return all.size() == 1 || status == ExitStatus.VERIFIED
                ? what
                : "%d of %d files: %s".formatted(those.size(), all.size(), what);
    }

    private static List<String> lines(Judged judged) {
        List<String> lines = new ArrayList<>();
        if (judged.unreadable().isEmpty()) {
            lines.add(judged.file() + ": " + judged.status());
            judged.report().text().lines().map(line -> "  " + line).forEach(lines::add);
        } else {
            lines.add(judged.file() + ": unreadable");
            lines.add("  " + judged.unreadable());
        }
        return lines;
    }

    private static Map<String, Object> fields(Judged judged) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("file", judged.file().toString());
        if (!judged.unreadable().isEmpty()) {
            fields.put("verdict", "unreadable");
            fields.put("reason", judged.unreadable());
            return fields;
        }
        WireReport report = judged.report();
        fields.put(
                "verdict",
                switch (judged.status()) {
                    case FABRIC_FAILED -> "violated";
                    case NOTHING_JUDGED -> "nothing judged";
                    default -> "clean";
                });
        fields.put("packets", report.packets());
        fields.put("judged", report.judged());
        fields.put("violations", report.violations());
        fields.put("observations", report.observations());
        Map<String, Object> notJudged = new LinkedHashMap<>();
        report.notJudged().forEach((reason, count) -> notJudged.put(reason.name(), count));
        fields.put("notJudged", notJudged);
        Map<String, Object> congestion = new LinkedHashMap<>();
        congestion.put("marked", report.congestion().marked());
        congestion.put("notifications", report.congestion().notifications());
        congestion.put("pauses", report.congestion().pauses());
        congestion.put("priorityPauses", report.congestion().priorityPauses());
        fields.put("congestion", congestion);
        fields.put("opcodes", new LinkedHashMap<>(report.opcodes()));
        fields.put("flows", report.flows().stream().map(WireCommand::fields).toList());
        fields.put(
                "handshakes",
                report.handshakes().stream().map(WireCommand::fields).toList());
        fields.put("groups", report.groups().stream().map(WireCommand::fields).toList());
        return fields;
    }

    private static Map<String, Object> fields(WireReport.Flow flow) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("source", flow.source().getHostAddress());
        fields.put("destination", flow.destination().getHostAddress());
        fields.put("destinationQp", flow.destinationQp());
        fields.put("requests", flow.requests());
        fields.put("retransmissions", flow.retransmissions());
        fields.put("responses", flow.responses());
        fields.put("acknowledged", flow.acknowledged());
        fields.put("sent", flow.sent());
        fields.put("lost", flow.lost());
        fields.put("naks", flow.naks());
        return fields;
    }

    private static Map<String, Object> fields(WireReport.Handshake handshake) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("client", handshake.client().getHostAddress());
        fields.put("server", handshake.server().getHostAddress());
        fields.put(
                "messages", handshake.messages().stream().map(CmMessage::text).toList());
        return fields;
    }

    private static Map<String, Object> fields(WireReport.Group group) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("address", group.address().getHostAddress());
        fields.put("packets", group.packets());
        fields.put(
                "members",
                group.members().stream().map(InetAddress::getHostAddress).toList());
        return fields;
    }
}
