package io.rdmatest.scenarios.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which GIDs two nodes connect with, where a scenario asks for a family. */
class NodeFactsTests {

    /** A node with the GIDs of another VLAN (interface 5) before its own (interface 2), and version 1 before version 2. */
    private static NodeFacts node(String own, int prefixBits, String... gids) {
        List<GidEntry> table = new ArrayList<>();
        for (String gid : gids) {
            int network = gid.startsWith("vlan ") ? 5 : 2;
            for (GidType type : List.of(GidType.ROCE_V1, GidType.ROCE_V2)) {
                table.add(new GidEntry(Gid.parse(gid.replace("vlan ", "")), table.size(), 1, type, network));
            }
        }
        InetAddress address = InetAddress.ofLiteral(own);
        GidEntry selected = table.stream()
                .filter(entry -> entry.type() == GidType.ROCE_V2 && entry.gid().equals(Gid.of(address)))
                .findFirst()
                .orElseThrow();
        return new NodeFacts(address, null, null, prefixBits, selected, table, 1024, Map.of());
    }

    private static List<String> gids(NodeFacts client, NodeFacts server, boolean ipv4) {
        return client.gidsWith(server, ipv4).stream()
                .map(entry -> entry.type() + " " + entry.gid())
                .toList();
    }

    @Test
    void ofTheOwnFamilyItIsTheOwnGid() {
        NodeFacts a = node("192.0.2.1", 24, "vlan ::ffff:198.51.100.1", "fe80::1", "::ffff:192.0.2.1");
        NodeFacts b = node("192.0.2.2", 24, "::ffff:192.0.2.9", "::ffff:192.0.2.2");

        assertThat(gids(a, b, true)).containsExactly("RoCE v2 ::ffff:192.0.2.1", "RoCE v2 ::ffff:192.0.2.2");
        NodeFacts six = node("2001:db8::1", 64, "fe80::1", "2001:db8::9", "2001:db8::1");
        assertThat(gids(six, six, false)).containsExactly("RoCE v2 2001:db8::1", "RoCE v2 2001:db8::1");
    }

    @Test
    void ofTheOtherFamilyItIsOneOfTheSameInterface() {
        NodeFacts a = node("192.0.2.1", 24, "vlan 2001:db8:5::1", "fe80::1", "2001:db8::1", "::ffff:192.0.2.1");
        NodeFacts b = node("192.0.2.2", 24, "fe80::2", "::ffff:192.0.2.2", "2001:db8::2");

        assertThat(gids(a, b, false)).containsExactly("RoCE v2 2001:db8::1", "RoCE v2 2001:db8::2");
        NodeFacts alone = node("192.0.2.1", 24, "vlan 2001:db8:5::1", "::ffff:192.0.2.1");
        assertThat(gids(alone, b, false)).isEmpty();
    }

    /** A routed fabric is good, and does not pass them on. */
    @Test
    void linkLocalGidsAreForNodesOfOneNetwork() {
        NodeFacts a = node("192.0.2.1", 24, "fe80::1", "::ffff:192.0.2.1");
        NodeFacts b = node("192.0.2.2", 24, "fe80::2", "::ffff:192.0.2.2", "2001:db8::2");
        NodeFacts far = node("192.0.3.2", 24, "fe80::3", "::ffff:192.0.3.2");
        NodeFacts unknown = node("192.0.2.1", 0, "fe80::1", "::ffff:192.0.2.1");

        assertThat(gids(a, b, false)).containsExactly("RoCE v2 fe80::1", "RoCE v2 fe80::2");
        assertThat(gids(a, far, false)).isEmpty();
        assertThat(gids(unknown, b, false)).isEmpty();
        assertThat(gids(unknown, unknown, false)).containsExactly("RoCE v2 fe80::1", "RoCE v2 fe80::1");
    }
}
