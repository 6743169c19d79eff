package io.rdmatest.report.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The facts about a run that are not in its journals.
 *
 * @param runId a UUID, another one for each run
 * @param fabric the fabric that was qualified; null if unknown
 * @param nodes the nodes of the fabric; only those that took part if the others are unknown
 * @param settings what the run was configured by, such as {@code rdma.run.seed}
 * @param selected what a selection left of the scenarios; null if all were to run
 * @param exitStatus what {@code ./qualify} ended with; null if a signal ended it
 */
public record RunAbout(
        String runId,
        @Nullable FabricName fabric,
        List<NodeName> nodes,
        Map<String, String> settings,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Selected selected,
        @Nullable Integer exitStatus) {

    /**
     * A fabric.
     *
     * @param name its name
     * @param source the file that it is described in; null if that is not known
     * @param rail the one rail that was qualified; null if none was chosen
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record FabricName(
            String name, @Nullable String source, @Nullable String rail) {}

    /**
     * A node.
     *
     * @param name its name in the fabric's file
     * @param rails the names of its rails; empty if it has one device without a name
     */
    public record NodeName(String name, List<String> rails) {}

    /**
     * A selection that leaves scenarios out.
     *
     * @param patterns what was selected
     * @param of how many scenarios the last whole run had; null if that is not known
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Selected(List<String> patterns, @Nullable Integer of) {

        public Selected {
            patterns = List.copyOf(patterns);
        }

        /** Returns the extent of the selection in words, without a full stop. */
        String sentence(int count) {
            String all = of != null && of > count ? " of " + of : "";
            return count + all + (count == 1 && all.isEmpty() ? " scenario" : " scenarios")
                    + (count == 1 ? " was" : " were") + " selected";
        }
    }

    public RunAbout {
        nodes = List.copyOf(nodes);
        settings = new TreeMap<>(settings);
    }

    /** Returns the facts about a run that {@code ./qualify} did not start, from the reports of its tests. */
    public static RunAbout of(Map<String, String> environment) {
        String name = environment.get("fabric");
        // "b: host, device rxe0 …", as scenarios describe their sides.
        List<String> sides = Stream.of("client", "server")
                .map(environment::get)
                .filter(side -> side != null && side.contains(": "))
                .map(side -> side.substring(0, side.indexOf(": ")))
                .distinct()
                .toList();
        String host = environment.get("host");
        List<String> nodes = sides.isEmpty() && host != null ? List.of(host) : sides;
        return new RunAbout(
                UUID.randomUUID().toString(),
                name == null ? null : new FabricName(name, null, null),
                nodes.stream().map(each -> new NodeName(each, List.of())).toList(),
                Map.of(),
                null,
                null);
    }

    /**
     * Returns what {@code ./qualify} knows of a run that it starts.
     *
     * @param fabric what is qualified
     * @param nodes all nodes of the fabric
     * @param settings see {@link #settings}
     * @param selected see {@link #selected}
     */
    public static RunAbout of(
            FabricName fabric, List<NodeName> nodes, Map<String, String> settings, @Nullable Selected selected) {
        return new RunAbout(UUID.randomUUID().toString(), fabric, nodes, settings, selected, null);
    }

    public RunAbout withExitStatus(@Nullable Integer status) {
        return new RunAbout(runId, fabric, nodes, settings, selected, status);
    }
}
