package io.rdmatest.acceptance;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Runs {@link FaultsOnTwoNodes} in the machine that is node a, one line for what became of each test. */
final class FaultsMain {

    private FaultsMain() {}

    /**
     * Runs the tests, or holds a fault until it is killed.
     *
     * @param arguments none, names of tests, or {@code hold}
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (arguments.length > 0 && arguments[0].equals("hold")) {
            hold();
        }
        TestsOnNodeA.run(
                arguments.length == 0
                        ? List.of(selectClass(FaultsOnTwoNodes.class))
                        : Stream.of(FaultsOnTwoNodes.class.getDeclaredMethods())
                                .filter(method -> List.of(arguments).contains(method.getName()))
                                .map(method -> selectMethod(FaultsOnTwoNodes.class, method))
                                .toList(),
                Map.of());
    }

    private static void hold() throws InterruptedException {
        Fabric fabric = Fabric.load("microvm-2");
        for (Node node : fabric.nodes()) {
            Faults.on(fabric).network(node.port(), NetworkFault.loss(1), Duration.ofMinutes(30));
        }
        System.out.println("holding");
        // Killed long before.
        boolean ignored = new CountDownLatch(1).await(2, TimeUnit.MINUTES);
    }
}
