package io.rdmatest.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.DeviceUnderTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** A device that is removed while it is used, as by a driver that is unloaded. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Isolated("other tests take any device that there is")
@Tag("slow")
class DeviceRemovalIT {

    private static final String INTERFACE = "removalit0";
    private static final String DEVICE = "rxeremovalit";
    private static final String ADDRESS = "198.51.100.7";

    @BeforeEach
    void addDevice() throws Exception {
        DeviceUnderTest.assumeRxe("a second device of soft-RoCE can be made and removed");
        run("ip", "link", "add", INTERFACE, "type", "dummy");
        run("ip", "address", "add", ADDRESS + "/24", "dev", INTERFACE);
        run("ip", "link", "set", INTERFACE, "up");
        run("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", INTERFACE);
    }

    @AfterEach
    void removeInterface() throws Exception {
        if (DeviceUnderTest.driver() != DeviceUnderTest.Driver.RXE) {
            return;
        }
        run("ip", "link", "delete", INTERFACE);
    }

    @Test
    void everyStreamEndsAndKeepsWhatHadArrived() throws Exception {
        List<String> said = whileItIsRemoved("streams");
        assertThat(said).hasSize(12).startsWith("CONNECTED", "CONNECTED", "CONNECTED", "CONNECTED", "sent 100");
        List<String> ends = said.subList(6, 10);
        assertThat(ends).allMatch(line -> line.matches("received \\d+, and (CONNECTION_LOST|the end)"));
        assertThat(ends).anyMatch(line -> line.endsWith("CONNECTION_LOST"));
        assertThat(ends.stream().map(line -> line.replaceAll(",.*", "")))
                .containsExactly("received 0", "received 100", "received 0", "received 0");
        assertThat(said).endsWith("nothing can be sent", "left: []");
    }

    @Test
    void aMemberOfAGroupCanBeClosed() throws Exception {
        assertThat(whileItIsRemoved("group"))
                .containsExactly(DeviceRemoval.READY, "DEVICE_REMOVAL", "closed", "left: []");
    }

    /** Returns what a process says that has its device removed when it is ready. */
    private static List<String> whileItIsRemoved(String what) throws IOException, InterruptedException {
        Process process = start(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                DeviceRemoval.class.getName(),
                ADDRESS,
                what);
        // Its own waits are shorter: only a call that never returns outlives this, and then the reading below ends,
        // too.
        CompletableFuture<Void> watchdog = CompletableFuture.runAsync(
                process::destroyForcibly, CompletableFuture.delayedExecutor(100, TimeUnit.SECONDS));
        List<String> said = new ArrayList<>();
        Process removal = null;
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                said.add(line);
                if (line.equals(DeviceRemoval.READY)) {
                    removal = start("rdma", "link", "delete", DEVICE);
                }
            }
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        } finally {
            boolean ignored = watchdog.cancel(false);
            Process ended = process.destroyForcibly();
        }
        ends(removal == null ? start("rdma", "link", "delete", DEVICE) : removal);
        return said;
    }

    private static Process start(String... command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static void run(String... command) throws IOException, InterruptedException {
        ends(start(command));
    }

    private static void ends(Process process) throws IOException, InterruptedException {
        // Before its output is read, which can't be given up: it is short.
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.exitValue()).as(output).isZero();
    }
}
