package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Ledger;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rstream.Exchange;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.rstream.StreamRow;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/**
 * The two series of rstream(1) against the program, with its own repetitions, which it can't be asked to reduce. They move 830
 * MB; over all 33 sizes 11 GB, which takes soft-RoCE in emulation about a quarter of an hour, so these run on demand only
 * ({@value ScenarioSettings#STREAM_SIZES}{@code =all}).
 */
@Tag("soak")
@Timeout(value = 1500, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExclusiveDevice
class RstreamSuiteIT {

    private static final Duration STEP = Duration.ofSeconds(30);
    private static final Duration SUITE = Duration.ofMinutes(20);
    private static final int PORT = 20_080;

    @ParameterizedTest
    @ValueSource(strings = {"", "-S all"})
    void ourClientRunsTheSeriesAgainstTheProgram(String sizes) throws Exception {
        requireSelected(sizes);
        FabricDevice device = Fabric.load("auto").local().resolve();
        String address = device.address().getHostAddress();
        RstreamOptions options = options(sizes).and("-s", address, "-p", PORT);
        try (CProgram server = CProgram.start(
                        STEP,
                        "rstream",
                        ("-b " + address + " -p " + PORT + " " + sizes).trim().split(" "));
                LocalRoles roles = new LocalRoles()) {
            server.awaitListening();
            StreamRoles.Result result = roles.start("client", device, new StreamRoles.Client(options))
                    .join(SUITE);
            assertThat(server.awaitEnd()).as(server.describe()).isZero();
            require(server, options, result);
        }
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-S all"})
    void theProgramRunsTheSeriesAgainstOurServer(String sizes) throws Exception {
        requireSelected(sizes);
        FabricDevice device = Fabric.load("auto").local().resolve();
        String address = device.address().getHostAddress();
        RstreamOptions options = options(sizes).and("-b", address, "-p 0");
        try (LocalRoles roles = new LocalRoles()) {
            Running<StreamRoles.Result> server = roles.start("server", device, new StreamRoles.Server(options));
            String port = server.hear("port", STEP);
            try (CProgram client = CProgram.start(
                    STEP,
                    "rstream",
                    ("-s " + address + " -p " + port + " " + sizes).trim().split(" "))) {
                StreamRoles.Result result = server.join(SUITE);
                assertThat(client.awaitEnd()).as(client.describe()).isZero();
                require(client, options, result);
            }
        }
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    private static void requireSelected(String sizes) {
        if (!sizes.isEmpty() && !"all".equals(System.getProperty(ScenarioSettings.STREAM_SIZES))) {
            throw new TestAbortedException(
                    SkipReason.NOT_SELECTED.because(ScenarioSettings.STREAM_SIZES + " is not all"));
        }
    }

    private static RstreamOptions options(String sizes) {
        return (sizes.isEmpty() ? RstreamOptions.parse() : RstreamOptions.parse("-S all")).and("--timeout", STEP);
    }

    /** The program's own lines are the proof that its rows are ours: in default mode its status never tells of a failure. */
    private static void require(CProgram program, RstreamOptions options, StreamRoles.Result result) throws Exception {
        List<StreamRow> rows = options.series().stream().flatMap(List::stream).toList();
        assertThat(program.output().lines().map(line -> line.split(" +", 2)[0]).skip(1))
                .containsExactlyElementsOf(rows.stream().map(StreamRow::name).toList());
        assertThat(result.timings().stream().map(Exchange.Timing::row)).containsExactlyElementsOf(rows);
        assertThat(result.bytesReceived())
                .isEqualTo(rows.stream()
                        .mapToLong(row -> 16 + row.totalBytes() / 2)
                        .sum());
    }
}
