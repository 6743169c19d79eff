package io.rdmatest.junit.fabric;

import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.engine.Configuration;
import io.rdmatest.junit.engine.Counters;
import java.util.Map;
import java.util.SortedMap;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * What the counters of a port of another node were when a test began: they are judged as those of the run's own device are, by
 * {@value RdmaConfiguration#COUNTERS} and {@link IgnoreCounters @IgnoreCounters}. For extensions that run tests across nodes and
 * have a way to read the counters there.
 */
public final class RemoteCounters {

    private final String node;
    private final String device;
    private final String driver;
    private final Map<String, Long> before;

    private RemoteCounters(String node, String device, String driver, Map<String, Long> before) {
        this.node = node;
        this.device = device;
        this.driver = driver;
        this.before = Map.copyOf(before);
    }

    /**
     * Tells whether counters are judged or published at all.
     *
     * @param context of a test
     * @return false if {@value RdmaConfiguration#COUNTERS} is {@code off}: then nobody needs to read them
     */
    public static boolean areWanted(ExtensionContext context) {
        return !Configuration.of(context).countersOff();
    }

    /**
     * Tells whether a test fails when error counters increased.
     *
     * @param context of a test
     * @return true if {@value RdmaConfiguration#COUNTERS} is {@code fail}
     */
    public static boolean areJudged(ExtensionContext context) {
        return Configuration.of(context).countersFail();
    }

    /**
     * Returns the counters by which a port tells of packets that were lost, repeated, refused or damaged. For a measurement that
     * takes a fraction of a second: within a longer one, a loaded host moves some of those of soft-RoCE on a good fabric.
     *
     * @param increased by how much counters increased, by their names
     * @param driver the device's driver, for example {@code rdma_rxe}
     * @return those of them; empty if there are none
     */
    public static SortedMap<String, Long> losses(Map<String, Long> increased, String driver) {
        return Counters.losses(increased, driver);
    }

    /**
     * Keeps what the counters were.
     *
     * @param node the name of the node
     * @param device its device and port, for example {@code rxe0/1}
     * @param driver the device's driver, for example {@code rdma_rxe}: it decides which counters tell of an error
     * @param before the counters by their names, as {@link io.rdmatest.verbs.RdmaDevice#hardwareCounters} has them
     * @return to be judged after the test
     */
    public static RemoteCounters begin(String node, String device, String driver, Map<String, Long> before) {
        return new RemoteCounters(node, device, driver, before);
    }

    /**
     * Publishes which counters grew, and fails if one of them must not have.
     *
     * @param context of the test, after its body
     * @param now the counters as they are now
     * @throws org.opentest4j.AssertionFailedError if an error counter grew while no other test ran, the test passed, and was not
     *     told to ignore it
     */
    public void judge(ExtensionContext context, Map<String, Long> now) {
        if (areWanted(context)) {
            Counters.judge(context, "node " + node, device + " of node " + node, driver, before, now);
        }
    }
}
