package io.rdmatest.scenarios.cli;

import io.rdmatest.ExitStatus;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricCheck;
import io.rdmatest.fabric.FabricCheck.Difference;
import io.rdmatest.fabric.FabricCheck.Kind;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Problem;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.fabric.FabricCheck.Unknown;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Rail;
import io.rdmatest.scenarios.command.JsonCommand;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.options.DurationText;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Reads a fabric file and tries every node in it. */
@Command(
        name = "check",
        sortOptions = false,
        description = {
            "Reads a fabric file, and reports all mistakes in it with line and column.",
            "Then checks every node: its launch command, java, libraries, device, GID, address and promises.",
            "Reports differences from most nodes of the same kind, with the command that shows them and the cure.",
            "Runs no test. Ends with 2 if the file is wrong; otherwise with the status of the first problem."
        })
final class FabricCheckCommand extends JsonCommand {

    /** What {@code -Drdmatest.check=true} ends with where the fabric is to be tried on this very host, device or not. */
    private static final int ON_THIS_HOST = 101;

    /** The same for a fabric of virtual machines, less their number. */
    private static final int IN_MACHINES = 101;

    /** The device of each of the project's virtual machines. */
    private static final String DEVICE_OF_MACHINE = "rxe0";

    private static final Pattern MISTAKE = Pattern.compile("(.*?):(\\d+):(\\d+): (.*)");

    @Parameters(paramLabel = "FILE", description = "A fabric file, or the name of a fabric such as auto or microvm-2.")
    private String file = "";

    @Option(
            names = "--timeout",
            paramLabel = "<duration>",
            converter = DurationText.class,
            description = "How long each launched node has for its answer (default: 30s).")
    private Duration timeout = FabricCheck.DEFAULT_TIMEOUT;

    @Option(
            names = "--pin",
            paramLabel = "<file>",
            description =
                    "Write a fabric file that promises what most nodes of each kind have; comments have the rest.")
    private @Nullable Path pin;

    @Override
    public Optional<Object> group() {
        return Optional.of(new FabricGroup());
    }

    /** Checks the file before any node is asked, which may take a while. */
    @Override
    protected void check() {
        Path target = pin;
        if (target == null) {
            return;
        }
        Path folder = target.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw wrong("--pin " + target + " can't be written: its folder does not exist");
        }
        if (Files.isDirectory(target)) {
            throw wrong("--pin " + target + " can't be written: it is a folder");
        }
        // Before the fabric is loaded: what is wrong with it is told with all that is.
        if (Fabric.file(file).filter(read -> TargetFile.isSame(target, read)).isPresent()) {
            throw wrong("--pin " + target + " is the file that is checked" + (isName() ? ", by its name " + file : "")
                    + "; give another one");
        }
    }

    private boolean isName() {
        return !file.contains("/") && !file.contains(".");
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec().commandLine(), message);
    }

    /** A wrong file is reported without a machine; a right one decides where its nodes are checked. */
    @Override
    protected int place() {
        try {
            Fabric fabric = Fabric.load(file);
            if (fabric.microvms() > 0) {
                return IN_MACHINES + fabric.microvms();
            }
            // A machine has neither this host's adapters nor its network.
            boolean anywhere = fabric.nodes().stream()
                    .allMatch(node -> node.isLocal()
                            && List.of(Rail.AUTO, DEVICE_OF_MACHINE)
                                    .contains(node.port().rail().device()));
            return anywhere ? OPTIONS_ARE_RIGHT : ON_THIS_HOST;
        } catch (FabricException e) {
            return ON_THIS_HOST;
        }
    }

    @Override
    protected Outcome execute() throws InterruptedException {
        Fabric fabric;
        try {
            fabric = Fabric.load(file);
        } catch (FabricException e) {
            return mistakes(e.problems());
        }
        List<Result> results = FabricCheck.run(fabric, timeout, cancelled());
        List<String> lines = new ArrayList<>();
        lines.add(fabric.name() + " (" + fabric.source() + "): " + count(results.size(), "node"));
        List<Object> nodes = new ArrayList<>();
        for (Result result : results) {
            lines.addAll(lines(result));
            nodes.add(json(result));
        }
        List<String> bad = results.stream()
                .filter(result -> !result.problems().isEmpty())
                .map(result -> result.node().name())
                .toList();
        String ready = bad.isEmpty()
                ? "fabric " + fabric.name() + " is ready"
                : bad.size() + " of " + count(results.size(), "node") + " not ready: " + String.join(", ", bad);
        List<Difference> differences = FabricCheck.differences(results);
        for (Difference difference : differences) {
            lines.add((difference.separates() ? "WRONG: " : "differs: ") + difference.text());
            lines.add("  shown on " + difference.odd() + " by: " + difference.show());
            lines.add("  to do there: " + difference.cure());
        }
        List<Unknown> unknown = FabricCheck.unknown(results);
        unknown.forEach(each -> lines.add("unknown: " + each.text()));
        Optional<Difference> separating =
                differences.stream().filter(Difference::separates).findFirst();
        String message = bad.isEmpty() ? separating.map(Difference::text).orElse(ready) : ready;
        Pinned pinned = pinned(fabric, results);
        if (!pinned.text().isEmpty()) {
            lines.add(pinned.text());
        }
        ExitStatus status = status(results);
        if (status == ExitStatus.VERIFIED && separating.isPresent()) {
            status = ExitStatus.NO_ROUTE;
        }
        if (status == ExitStatus.VERIFIED && !pinned.done()) {
            status = ExitStatus.HOST_NOT_READY;
            message = pinned.text();
        }
        if (status == ExitStatus.VERIFIED) {
            lines.add(message);
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("fabric", fabric.name());
        fields.put("source", fabric.source());
        fields.put("mistakes", List.of());
        fields.put("nodes", nodes);
        fields.put(
                "differences",
                differences.stream().map(FabricCheckCommand::json).toList());
        fields.put("unknown", unknown.stream().map(FabricCheckCommand::json).toList());
        if (pin != null) {
            fields.put("pin", Map.of("file", pin.toString(), "written", pinned.done(), "message", pinned.text()));
        }
        return new Outcome(status, message, lines, fields);
    }

    /**
     * The result of {@code --pin}.
     *
     * @param done whether all that was asked for is done
     * @param text one sentence; empty if nothing was asked for
     */
    private record Pinned(boolean done, String text) {}

    private Pinned pinned(Fabric fabric, List<Result> results) {
        Path target = pin;
        if (target == null) {
            return new Pinned(true, "");
        }
        Optional<String> text = FabricCheck.pinned(fabric, results);
        if (text.isEmpty()) {
            return new Pinned(false, "--pin " + target + " was not written: no device of any node was found");
        }
        try {
            TargetFile.write(target, text.get());
            return new Pinned(true, "pinned: " + target + " promises what most nodes of each kind have");
        } catch (IOException e) {
            return new Pinned(false, "--pin " + target + " can't be written: " + TargetFile.why(e));
        }
    }

    private Outcome mistakes(List<String> problems) {
        List<Object> described = new ArrayList<>();
        for (String problem : problems) {
            Map<String, Object> mistake = new LinkedHashMap<>();
            Matcher matcher = MISTAKE.matcher(problem);
            if (matcher.matches()) {
                mistake.put("file", matcher.group(1));
                mistake.put("line", Integer.parseInt(matcher.group(2)));
                mistake.put("column", Integer.parseInt(matcher.group(3)));
                mistake.put("message", matcher.group(4));
            } else {
                mistake.put("message", problem);
            }
            described.add(mistake);
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("source", file);
        fields.put("mistakes", described);
        fields.put("nodes", List.of());
        return new Outcome(
                ExitStatus.USAGE, count(problems.size(), "mistake") + "; no node was tried", problems, fields);
    }

    private static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }

    private static ExitStatus status(List<Result> results) {
        return results.stream()
                .flatMap(result -> result.problems().stream())
                .map(problem -> status(problem.kind()))
                .findFirst()
                .orElse(ExitStatus.VERIFIED);
    }

    private static ExitStatus status(Kind kind) {
        return switch (kind) {
            case UNREACHABLE -> ExitStatus.PEER_ABSENT;
            case NOT_READY, DUPLICATE -> ExitStatus.HOST_NOT_READY;
            case NO_ROUTE -> ExitStatus.NO_ROUTE;
            case BROKEN_PROMISE -> ExitStatus.FABRIC_FAILED;
        };
    }

    private static List<String> lines(Result result) {
        Node node = result.node();
        List<String> lines = new ArrayList<>();
        lines.add("node " + node.name() + ": "
                + (node.isLocal() ? "this host" : "by '" + String.join(" ", node.launch()) + "'")
                + (result.host().isEmpty()
                        ? ""
                        : ", "
                                + String.join(
                                        ", ",
                                        result.host().entrySet().stream()
                                                .filter(fact -> List.of("host", "kernel", "java")
                                                        .contains(fact.getKey()))
                                                .map(fact -> fact.getKey().equals("java")
                                                        ? "Java " + fact.getValue()
                                                        : fact.getValue())
                                                .toList())));
        for (Place place : result.places()) {
            lines.add("  %s%s/%d, GID %d %s (%s), address %s%s%s"
                    .formatted(
                            place.rail().isEmpty() ? "" : "rail " + place.rail() + ": ",
                            place.device(),
                            place.port(),
                            place.gidIndex(),
                            place.gid(),
                            place.gidType(),
                            place.address().getHostAddress(),
                            place.rateGbps() > 0
                                    ? ", "
                                            + BigDecimal.valueOf(place.rateGbps())
                                                    .stripTrailingZeros()
                                                    .toPlainString() + " Gb/s"
                                    : "",
                            place.mtu() > 0 ? ", MTU " + place.mtu() : ""));
            place.belowCapability().forEach(text -> lines.add("    below its capability: " + text));
        }
        result.problems().forEach(problem -> lines.add("  WRONG: " + problem.text()));
        result.notes().forEach(note -> lines.add("  not looked at: " + note));
        return lines;
    }

    private static Map<String, Object> json(Result result) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("name", result.node().name());
        fields.put("launch", result.node().launch());
        fields.put("ready", result.problems().isEmpty());
        fields.put("host", result.host());
        fields.put(
                "devices",
                result.places().stream().map(FabricCheckCommand::json).toList());
        fields.put(
                "problems",
                result.problems().stream().map(FabricCheckCommand::json).toList());
        fields.put("notLookedAt", result.notes());
        return fields;
    }

    private static Map<String, Object> json(Place place) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rail", place.rail());
        fields.put("device", place.device());
        fields.put("port", place.port());
        fields.put("gidIndex", place.gidIndex());
        fields.put("gid", place.gid().toString());
        fields.put("gidType", place.gidType().toString());
        fields.put("address", place.address().getHostAddress());
        fields.put("rateGbps", place.rateGbps());
        fields.put("mtuBytes", place.mtu());
        fields.put("driver", place.driver());
        fields.put("firmware", place.firmware());
        fields.put("settings", place.settings());
        fields.put("belowCapability", place.belowCapability());
        return fields;
    }

    private static Map<String, Object> json(Difference difference) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("what", difference.what());
        fields.put("rail", difference.rail());
        fields.put("kind", difference.kind());
        fields.put("values", difference.values());
        fields.put("separates", difference.separates());
        fields.put("message", difference.text());
        fields.put("odd", difference.odd());
        fields.put("show", difference.show());
        fields.put("cure", difference.cure());
        return fields;
    }

    private static Map<String, Object> json(Unknown unknown) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rail", unknown.rail());
        fields.put("nodes", unknown.nodes());
        fields.put("what", unknown.what());
        fields.put("message", unknown.text());
        return fields;
    }

    private static Map<String, Object> json(Problem problem) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("status", status(problem.kind()).toString());
        fields.put("message", problem.text());
        return fields;
    }
}
