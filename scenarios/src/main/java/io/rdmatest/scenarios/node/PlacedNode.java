package io.rdmatest.scenarios.node;

import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.fabric.Promises;
import io.rdmatest.fabric.Rail;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The node as its agent sees it. It has no launch command: for the agent the node is this host.
 *
 * @param gidIndex null for any
 * @param gidType null for any
 * @param gidFamily null for any
 * @param peer the address of the other side; null if that is this node
 */
record PlacedNode(
        String fabric,
        String name,
        String device,
        int port,
        @Nullable Integer gidIndex,
        GidSelector.@Nullable Type gidType,
        GidSelector.@Nullable Family gidFamily,
        @Nullable InetAddress address,
        String scope,
        @Nullable InetAddress peer) {

    static PlacedNode of(NodePort on, @Nullable InetAddress peer) {
        Rail rail = on.rail();
        OptionalInt index = rail.gid().index();
        return new PlacedNode(
                on.node().fabric(),
                on.node().name(),
                rail.device(),
                rail.port(),
                index.isPresent() ? index.getAsInt() : null,
                rail.gid().type(),
                rail.gid().family(),
                rail.address(),
                rail.scope(),
                peer);
    }

    Node toNode() {
        GidSelector gid =
                new GidSelector(gidIndex == null ? OptionalInt.empty() : OptionalInt.of(gidIndex), gidType, gidFamily);
        Rail rail = new Rail("", device, port, gid, address, scope, Promises.NONE, null);
        return new Node(fabric, name, List.of(), Node.DEFAULT_JAVA, Map.of(), List.of(rail));
    }
}
