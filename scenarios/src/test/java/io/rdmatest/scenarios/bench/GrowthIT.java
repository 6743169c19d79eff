package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Ledger;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.ExclusiveDevice;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The work of each row is done, as much as is asked for. What it costs is not judged here. */
@Tag("soak")
@ExclusiveDevice
class GrowthIT {

    @ParameterizedTest
    @CsvSource({
        "growth-connections, 3, 3",
        "growth-qps, 5, 4095",
        "growth-size, 1, 0.48828125",
        "growth-size, 9437184, 9216",
        "growth-tests, 7, 7"
    })
    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void theWorkIsDone(String name, long work, double units) {
        GrowthRow row = GrowthRows.all().stream()
                .filter(each -> each.name().equals(name))
                .findFirst()
                .orElseThrow();
        BenchContext context = new BenchContext(
                Fabric.load().local().resolve(), Duration.ofSeconds(60), 1, Processors.ANY, () -> false);

        Effort effort = row.source().run(context, work);

        assertThat(effort.units()).isEqualTo(units);
        assertThat(effort.nanos()).isPositive();
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }
}
