package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Rail;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** What the page about nodes and roles shows. */
@RdmaTest(timeout = "400 s")
@Tag("slow")
class NodesDocsIT {

    @RdmaTest(timeout = "400 s")
    void rolesRunInTheirPlaces(FabricDevice device) {
        // begin places
        Node other = new Node("mine", "other", Rail.AUTO, 0, GidSelector.AUTO, null, List.of());
        try (Place here = Place.here(device);
                Place there =
                        Place.inChildProcess(other, PeerSettings.defaults().withStart(Duration.ofMinutes(3)))) {
            RpingOptions options = RpingOptions.parse("-p 0 -C 10 -V --timeout 1min");
            var results = NodeRoles.runPair(
                    there, new RpingRoles.Server(options), here, new RpingRoles.Client(options), Duration.ofMinutes(2));
            assertThat(results.server().bytesVerified()).isEqualTo(10 * 64);
            assertThat(results.client().pings()).isEqualTo(10);
        }
        // end places
    }
}
