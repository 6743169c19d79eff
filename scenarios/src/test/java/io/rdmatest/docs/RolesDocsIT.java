package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.EachOptionLine;
import io.rdmatest.scenarios.EachPair;
import io.rdmatest.scenarios.Stage;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.ParameterizedTest;

/** What the pages about the annotations of the roles show. */
class RolesDocsIT {

    @Nested
    // begin each-option-line
    @RdmaTest
    class PingIT {

        @ParameterizedTest
        @EachOptionLine({"-C 10 -S 64 -V", "-q -C 10 -S 4096"})
        void pings(RpingOptions options, FabricDevice device) {
            RpingOptions onAnyPort = options.and("-p 0");
            LocalRoles.runPair(
                    device, new RpingRoles.Server(onAnyPort), new RpingRoles.Client(onAnyPort), Duration.ofSeconds(30));
        }
    }
    // end each-option-line

    @Nested
    // begin each-pair
    @RdmaTest
    class AllNodesIT {

        @EachPair
        void ping(Stage stage) {
            RpingOptions options = RpingOptions.parse("-p 0 -C 10 -V");
            var results = stage.runPair(
                    new RpingRoles.Server(options), new RpingRoles.Client(options), Duration.ofSeconds(30));
            assertThat(results.server().bytesVerified()).isEqualTo(10 * 64);
        }
    }
    // end each-pair
}
