package io.rdmatest.scenarios.node;

import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Promises;
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

    static PlacedNode of(Node node, @Nullable InetAddress peer) {
        OptionalInt index = node.gid().index();
        return new PlacedNode(
                node.fabric(),
                node.name(),
                node.device(),
                node.port(),
                index.isPresent() ? index.getAsInt() : null,
                node.gid().type(),
                node.gid().family(),
                node.address(),
                node.scope(),
                peer);
    }

    Node toNode() {
        return new Node(
                fabric,
                name,
                device,
                port,
                new GidSelector(gidIndex == null ? OptionalInt.empty() : OptionalInt.of(gidIndex), gidType, gidFamily),
                address,
                scope,
                List.of(),
                Promises.NONE,
                Map.of(),
                Node.DEFAULT_JAVA,
                Map.of(),
                null);
    }
}
