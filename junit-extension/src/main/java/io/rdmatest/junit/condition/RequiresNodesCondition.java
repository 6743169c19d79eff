package io.rdmatest.junit.condition;

import io.rdmatest.SkipReason;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Node;
import io.rdmatest.junit.engine.RequirementCondition;
import io.rdmatest.junit.engine.RunDevice;
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
    protected List<Lack> lacks(RequiresNodes required, ExtensionContext place, ExtensionContext test) {
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
