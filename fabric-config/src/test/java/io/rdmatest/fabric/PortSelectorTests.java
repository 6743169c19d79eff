package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortState;
import io.rdmatest.verbs.Transport;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which of several ports and GIDs is taken where the fabric's file leaves that open. */
class PortSelectorTests {

    /** What the kernel makes of the hardware address, and what an interface may have instead. */
    private static final String OF_THE_KERNEL = "fe80::a00:27ff:fe4e:66a1";

    private static final String STABLE = "fe80::5c1b:77ff:1:2";

    private static PortSelector.Port port(
            String device, Transport transport, LinkLayer layer, GidType type, PortState state, String... gids) {
        List<GidEntry> entries = new ArrayList<>();
        for (String gid : gids) {
            entries.add(new GidEntry(Gid.parse(gid), entries.size(), 1, type, 0));
        }
        return new PortSelector.Port(device, "test", transport, 1, state, layer, entries);
    }

    private static PortSelector.Port roce(String device, PortState state, String... gids) {
        return port(device, Transport.IB, LinkLayer.ETHERNET, GidType.ROCE_V2, state, gids);
    }

    private static PortSelector.Port roce(String device, String... gids) {
        return roce(device, PortState.ACTIVE, gids);
    }

    private static PortSelector.Port infiniband(String device) {
        return port(device, Transport.IB, LinkLayer.INFINIBAND, GidType.IB, PortState.ACTIVE, "fe80::2:c903:1:2");
    }

    /** Its GID is the hardware address of its interface. */
    private static PortSelector.Port iwarp(String device, String gid) {
        return port(device, Transport.IWARP, LinkLayer.ETHERNET, GidType.IB, PortState.ACTIVE, gid);
    }

    private static Node node(String device, GidSelector gid, @Nullable String address) {
        return new Node("lab", "a", device, 0, gid, address == null ? null : InetAddress.ofLiteral(address), List.of());
    }

    /** The address of an interface in another network namespace. */
    private static final String ELSEWHERE = "::ffff:203.0.113.7";

    private static PortSelector.Presence presence(GidEntry gid) {
        if (gid.gid().equals(Gid.parse(ELSEWHERE))) {
            return PortSelector.Presence.ELSEWHERE;
        }
        return gid.gid().isLinkLocal() && !gid.gid().equals(Gid.parse(STABLE))
                ? PortSelector.Presence.INTERFACE
                : PortSelector.Presence.ADDRESS;
    }

    /** Chooses among ports of which only one link-local address is there, and whose interfaces have these addresses. */
    private static PortSelector.Choice select(Node node, Set<String> addresses, PortSelector.Port... ports) {
        return PortSelector.select(
                node.port(),
                new PortSelector.Host(
                        "here",
                        "do something",
                        List.of(ports),
                        List.of(ports).stream().map(PortSelector.Port::toString).toList(),
                        port -> addresses.stream()
                                .filter(text -> text.startsWith(port.device() + " "))
                                .map(text -> InetAddress.ofLiteral(text.replaceFirst(".* ", "")))
                                .findFirst(),
                        (port, gid) -> presence(gid),
                        scope -> Integer.parseInt(scope.replace("eth", "10"))));
    }

    private static String chosen(PortSelector.Port... ports) {
        PortSelector.Choice choice = select(node(Rail.AUTO, GidSelector.AUTO, null), Set.of(), ports);
        return choice.port().device() + " " + choice.gid().gid();
    }

    @Test
    void aPortWithAnAddressIsBeforeOneWithTheKernelsGidOnly() {
        assertThat(chosen(roce("a", OF_THE_KERNEL), roce("b", OF_THE_KERNEL, "::ffff:192.0.2.1")))
                .isEqualTo("b ::ffff:192.0.2.1");
        assertThat(chosen(roce("a", OF_THE_KERNEL), roce("b", OF_THE_KERNEL, "2001:db8::1")))
                .isEqualTo("b 2001:db8::1");
        assertThat(chosen(roce("a", OF_THE_KERNEL, STABLE), roce("b", "::ffff:192.0.2.1")))
                .isEqualTo("b ::ffff:192.0.2.1");
        assertThat(chosen(roce("a", OF_THE_KERNEL), roce("b", STABLE))).isEqualTo("b " + STABLE);
    }

    @Test
    void otherwiseTheFirstPortIsTaken() {
        assertThat(chosen(roce("a", "2001:db8::1"), roce("b", "::ffff:192.0.2.1")))
                .isEqualTo("a 2001:db8::1");
        assertThat(chosen(roce("a", STABLE), roce("b", STABLE))).isEqualTo("a " + STABLE);
        assertThat(chosen(roce("a", OF_THE_KERNEL), roce("b", OF_THE_KERNEL))).isEqualTo("a " + OF_THE_KERNEL);
        assertThat(chosen(roce("a", PortState.DOWN, "::ffff:192.0.2.1"), roce("b", OF_THE_KERNEL)))
                .isEqualTo("b " + OF_THE_KERNEL);
    }

    @Test
    void ofOnePortALinkLocalGidThatIsNoAddressIsLast() {
        assertThat(chosen(roce("a", OF_THE_KERNEL, STABLE))).isEqualTo("a " + STABLE);
        assertThat(chosen(roce("a", STABLE, OF_THE_KERNEL))).isEqualTo("a " + STABLE);
        assertThat(chosen(roce("a", OF_THE_KERNEL, STABLE, "2001:db8::1"))).isEqualTo("a 2001:db8::1");
    }

    @Test
    void whatReachesOneLinkOnlyIsAfterEveryOtherAddress() {
        assertThat(chosen(roce("a", "::ffff:169.254.3.4", "::ffff:192.0.2.1"))).isEqualTo("a ::ffff:192.0.2.1");
        assertThat(chosen(roce("a", STABLE, "::ffff:169.254.3.4", "2001:db8::1")))
                .isEqualTo("a 2001:db8::1");
        assertThat(chosen(roce("a", STABLE, "::ffff:169.254.3.4"))).isEqualTo("a ::ffff:169.254.3.4");
        assertThat(chosen(roce("a", "::ffff:169.254.3.4"), roce("b", "::ffff:192.0.2.1")))
                .isEqualTo("b ::ffff:192.0.2.1");
        // Its type matters less.
        PortSelector.Port both = new PortSelector.Port(
                "a",
                "test",
                Transport.IB,
                1,
                PortState.ACTIVE,
                LinkLayer.ETHERNET,
                List.of(
                        new GidEntry(Gid.parse("::ffff:169.254.3.4"), 0, 1, GidType.ROCE_V2, 0),
                        new GidEntry(Gid.parse("::ffff:192.0.2.1"), 1, 1, GidType.ROCE_V1, 0)));
        assertThat(chosen(both)).isEqualTo("a ::ffff:192.0.2.1");
        assertThat(select(
                                node("a", new GidSelector(OptionalInt.empty(), GidSelector.Type.ROCE_V2, null), null),
                                Set.of(),
                                both)
                        .gid()
                        .index())
                .isZero();
        // Of InfiniBand and iWARP, the addresses of the interface are ranked in the same way.
        assertThat(PortSelector.familyRank(Gid.parse("::ffff:169.254.3.4")))
                .isGreaterThan(PortSelector.familyRank(Gid.parse("2001:db8::1")));
    }

    @Test
    void anInterfaceInAnotherNetworkNamespaceIsNeverUsed() {
        assertThat(chosen(roce("a", ELSEWHERE, OF_THE_KERNEL))).isEqualTo("a " + OF_THE_KERNEL);
        assertThat(chosen(roce("a", ELSEWHERE), roce("b", OF_THE_KERNEL))).isEqualTo("b " + OF_THE_KERNEL);
        String reason = "{index: 0, type: RoCE v2, " + ELSEWHERE
                + "}, whose network interface is not in this network namespace";
        assertThatThrownBy(() -> chosen(roce("a", ELSEWHERE)))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("no GID for node a of fabric lab, gid auto; a/1 has " + reason);
        assertThatThrownBy(() -> select(node("a", GidSelector.ofIndex(0), null), Set.of(), roce("a", ELSEWHERE)))
                .hasMessageContaining(reason);
        assertThatThrownBy(() -> select(node("a", GidSelector.AUTO, "203.0.113.7"), Set.of(), roce("a", ELSEWHERE)))
                .hasMessageContaining("address 203.0.113.7; a/1 has " + reason);
    }

    @Test
    void aScopeSelectsTheInterfaceOfALinkLocalAddress() {
        PortSelector.Port port = new PortSelector.Port(
                "a",
                "test",
                Transport.IB,
                1,
                PortState.ACTIVE,
                LinkLayer.ETHERNET,
                List.of(
                        new GidEntry(Gid.parse(STABLE), 0, 1, GidType.ROCE_V2, 102),
                        new GidEntry(Gid.parse(STABLE), 1, 1, GidType.ROCE_V2, 103)));
        for (String scope : List.of("eth3", "103", "eth2", "102")) {
            Rail rail =
                    new Rail("", "a", 0, GidSelector.AUTO, InetAddress.ofLiteral(STABLE), scope, Promises.NONE, null);
            Node node = new Node("lab", "a", List.of(), Node.DEFAULT_JAVA, Map.of(), List.of(rail));
            assertThat(select(node, Set.of(), port).gid().interfaceIndex())
                    .as(scope)
                    .isEqualTo(scope.endsWith("3") ? 103 : 102);
        }
    }

    @Test
    void whatIsAskedForIsTakenAlsoIfItIsNoAddress() {
        PortSelector.Port a = roce("a", OF_THE_KERNEL, STABLE);
        PortSelector.Port b = roce("b", OF_THE_KERNEL, "::ffff:192.0.2.1");

        assertThat(select(node("a", GidSelector.AUTO, null), Set.of(), a, b)
                        .gid()
                        .index())
                .isEqualTo(1);
        assertThat(select(node("a", GidSelector.ofIndex(0), null), Set.of(), a, b)
                        .gid()
                        .index())
                .isEqualTo(0);
        assertThat(select(node(Rail.AUTO, GidSelector.AUTO, "192.0.2.1"), Set.of(), a, b)
                        .port())
                .isEqualTo(b);
    }

    /** The GIDs of InfiniBand have the same prefix, and say nothing of addresses. */
    @Test
    void ofInfiniBandTheAddressOfItsInterfaceCounts() {
        Node open = node(Rail.AUTO, GidSelector.AUTO, null);
        PortSelector.Port a = infiniband("a");
        PortSelector.Port b = infiniband("b");

        assertThat(select(open, Set.of("a 192.0.2.1", "b 192.0.2.2"), a, b).port())
                .isEqualTo(a);
        assertThat(select(open, Set.of("b 192.0.2.2"), a, b).port()).isEqualTo(b);
        assertThat(select(open, Set.of("a fe80::1", "b 192.0.2.2"), a, b).port())
                .isEqualTo(b);
        assertThat(select(open, Set.of("a fe80::1"), a, b).port()).isEqualTo(a);
        assertThat(select(open, Set.of("a 192.0.2.1"), a, roce("c", "::ffff:192.0.2.3"))
                        .port())
                .isEqualTo(a);
        assertThatThrownBy(() -> select(open, Set.of(), a, b))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("a/1 has no network interface with an IP address")
                .hasMessageContaining("b/1 has no network interface with an IP address");
        assertThat(Optional.of(select(node(Rail.AUTO, GidSelector.AUTO, "192.0.2.9"), Set.of(), a, b)))
                .map(choice -> choice.port().device())
                .contains("a");
    }

    /** A hardware address may look like a link-local one, and the node's address is never among the GIDs. */
    @Test
    void ofIwarpTheAddressOfItsInterfaceCounts() {
        PortSelector.Port a = iwarp("a", "fe80:77:1::");
        PortSelector.Port b = iwarp("b", "5254:77:2::");
        Node open = node(Rail.AUTO, GidSelector.AUTO, null);

        assertThat(select(open, Set.of("a 192.0.2.1", "b 192.0.2.2"), a, b).port())
                .isEqualTo(a);
        PortSelector.Choice second = select(open, Set.of("b 192.0.2.2"), a, b);
        assertThat(second.port()).isEqualTo(b);
        assertThat(second.address()).isEqualTo(InetAddress.ofLiteral("192.0.2.2"));
        PortSelector.Choice given = select(node("b", GidSelector.AUTO, "192.0.2.9"), Set.of(), a, b);
        assertThat(given.port()).isEqualTo(b);
        assertThat(given.address()).isEqualTo(InetAddress.ofLiteral("192.0.2.9"));
        assertThatThrownBy(() -> select(open, Set.of(), a, b))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("a/1 has no network interface with an IP address");
    }
}
