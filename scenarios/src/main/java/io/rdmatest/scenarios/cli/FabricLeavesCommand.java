package io.rdmatest.scenarios.cli;

import io.rdmatest.ExitStatus;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.FabricLeaves;
import io.rdmatest.fabric.FabricLeaves.Found;
import io.rdmatest.scenarios.command.JsonCommand;
import io.rdmatest.scenarios.command.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Finds the leaf switches of a fabric's ports in what other programs know. */
@Command(
        name = "leaves",
        sortOptions = false,
        description = {
            "Finds the leaf switch that each node and rail of a fabric file is cabled to, in the output of ibnetdiscover, of"
                    + " lldpctl, or in Slurm's topology. Asks no node.",
            "Ends with 3 if the leaf of a node is not found, or the file can't be written. A file without a leaf is reported,"
                    + " and the other files are used."
        })
final class FabricLeavesCommand extends JsonCommand {

    @Parameters(paramLabel = "FILE", description = "A fabric file, or the name of a fabric.")
    private String file = "";

    @Option(
            names = "--from",
            arity = "1..*",
            required = true,
            paramLabel = "<file>",
            description =
                    "The output of ibnetdiscover, of scontrol show topology or show topoconf, Slurm's topology.conf or"
                            + " topology.yaml, or for each node the output of lldpctl -f json or -f keyvalue in a file with"
                            + " the node's name, such as n01.json.")
    private List<Path> from = new ArrayList<>();

    @Option(
            names = "--interface",
            paramLabel = "<[rail=]name>",
            description =
                    "The network interface of a rail, or of all nodes if they have no rails. lldpctl needs it where a node's"
                            + " interfaces have different neighbours. Can be repeated.")
    private List<String> interfaces = new ArrayList<>();

    @Option(
            names = "--write",
            paramLabel = "<file>",
            description = "Write a fabric file with these leaves. Comments of the first one are lost.")
    private @Nullable Path write;

    @Override
    public Optional<Object> group() {
        return Optional.of(new FabricGroup());
    }

    @Override
    protected boolean needsDevice() {
        return false;
    }

    @Override
    protected void check() {
        if (write != null && Files.isDirectory(write)) {
            throw wrong("--write " + write + " can't be written: it is a folder");
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec().commandLine(), message);
    }

    @Override
    protected Outcome execute() {
        Fabric fabric;
        FabricLeaves leaves;
        try {
            fabric = Fabric.load(file);
            leaves = FabricLeaves.read(from);
        } catch (FabricException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
        Path target = write;
        if (target != null
                && Stream.concat(Fabric.file(file).stream(), from.stream())
                        .anyMatch(read -> TargetFile.isSame(target, read))) {
            throw wrong("--write " + target + " is a file that is read; give another one");
        }
        Map<String, String> named = new LinkedHashMap<>();
        for (String each : interfaces) {
            int at = each.indexOf('=');
            String rail = at < 0 ? "" : each.substring(0, at);
            if (!rail.isEmpty() && !fabric.rails().contains(rail)) {
                throw wrong("--interface " + each + ": the fabric " + fabric.name() + " has no rail " + rail);
            }
            named.put(rail, each.substring(at + 1));
        }
        List<Found> found;
        try {
            found = leaves.of(fabric, named);
        } catch (FabricException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
        List<String> lines = new ArrayList<>();
        lines.add("%s (%s): leaves from %s".formatted(fabric.name(), fabric.source(), sources(leaves)));
        Set<String> told = found.stream().map(Found::why).collect(Collectors.toSet());
        List<String> others =
                leaves.problems().stream().filter(each -> !told.contains(each)).toList();
        others.forEach(each -> lines.add("NOT READ: " + each));
        found.forEach(each -> lines.add(line(each)));
        long missing = found.stream().filter(each -> each.leaf() == null).count();
        long doubts = found.stream()
                .filter(each -> each.leaf() != null && !each.why().isEmpty())
                .count();
        String message = (missing == 0
                        ? "every leaf is found"
                        : "%d of %d leaves are not found".formatted(missing, found.size()))
                + (doubts == 0 ? "" : ", %d in doubt".formatted(doubts));
        String trouble = written(fabric, found);
        if (write != null && trouble == null) {
            lines.add("written: " + write);
        }
        if (missing == 0 && trouble == null) {
            lines.add(message);
        }
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("fabric", fabric.name());
        json.put("source", fabric.source());
        json.put("leaves", found.stream().map(FabricLeavesCommand::json).toList());
        json.put("missing", missing);
        json.put("problems", leaves.problems());
        if (write != null) {
            json.put("written", trouble == null);
        }
        return new Outcome(
                missing == 0 && trouble == null ? ExitStatus.VERIFIED : ExitStatus.HOST_NOT_READY,
                trouble == null ? message : trouble,
                lines,
                json);
    }

    /** Names the files by format. A fleet has thousands of one format, of which one is named. */
    private static String sources(FabricLeaves leaves) {
        return leaves.formats().entrySet().stream()
                .collect(Collectors.groupingBy(
                        Map.Entry::getValue,
                        LinkedHashMap::new,
                        Collectors.mapping(each -> each.getKey().toString(), Collectors.toList())))
                .entrySet()
                .stream()
                .map(each -> each.getValue().getFirst()
                        + (each.getValue().size() == 1
                                ? ""
                                : " and " + (each.getValue().size() - 1) + " more")
                        + " (" + each.getKey() + ")")
                .collect(Collectors.joining(", "));
    }

    /** Writes the file if one is asked for. Returns why that is not possible, or null. */
    private @Nullable String written(Fabric fabric, List<Found> found) {
        Path target = write;
        if (target == null) {
            return null;
        }
        try {
            TargetFile.write(target, FabricLeaves.written(fabric, found));
            return null;
        } catch (IOException e) {
            return "--write " + target + " can't be written: " + TargetFile.why(e);
        }
    }

    private static String line(Found found) {
        String before = found.before();
        String leaf = found.leaf();
        return "node " + found.node() + (found.rail().isEmpty() ? "" : ", " + found.rail()) + ": "
                + (leaf == null ? "NOT FOUND: " + found.why() : leaf)
                + (before == null || before.equals(leaf) ? "" : " (the file says " + before + ")")
                + (leaf == null || found.why().isEmpty() ? "" : " IN DOUBT: " + found.why());
    }

    private static Map<String, Object> json(Found found) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("node", found.node());
        json.put("rail", found.rail());
        String leaf = found.leaf();
        String before = found.before();
        if (leaf != null) {
            json.put("leaf", leaf);
        }
        if (before != null) {
            json.put("before", before);
        }
        if (!found.why().isEmpty()) {
            json.put("why", found.why());
        }
        return json;
    }
}
