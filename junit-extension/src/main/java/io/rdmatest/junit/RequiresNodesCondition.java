package io.rdmatest.junit;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Node;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresNodes @RequiresNodes}. */
final class RequiresNodesCondition extends RequirementCondition<RequiresNodes> {

    private static final int MOST = 100_000;

    RequiresNodesCondition() {
        super(RequiresNodes.class, true);
    }

    @Override
    List<Lack> lacks(RequiresNodes required, ExtensionContext place, ExtensionContext test) {
        checkRange(place, "value", required.value(), 1, MOST);
        Fabric fabric = RunDevice.of(test).fabric();
        List<Node> nodes = fabric.nodes();
        return nodes.size() >= required.value()
                ? List.of()
                : List.of(Lack.of(
                        SkipReason.PEER_ABSENT,
                        "fabric " + fabric + " has " + nodes.size() + (nodes.size() == 1 ? " node" : " nodes") + " ("
                                + nodes.stream().map(Node::name).collect(Collectors.joining(", "))
                                + "), and the test wants " + required.value()));
    }
}
