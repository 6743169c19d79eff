package io.rdmatest.scenarios.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.scenarios.PairSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Folders in the place of /proc and of control groups. */
class LaunchLimitsTests {

    @TempDir
    private Path folder;

    private Path proc = Path.of("");
    private Path cgroups = Path.of("");

    @BeforeEach
    void makeAHost() throws IOException {
        proc = folder.resolve("proc");
        cgroups = folder.resolve("cgroup");
        write(proc, "sys/kernel/threads-max", "513000\n");
        write(proc, "meminfo", "MemTotal: 33554432 kB\nMemAvailable:   16777216 kB\n");
        write(proc, "self/cgroup", "9:pids:/x\n0::/user.slice/session\n");
        limits("4096", "524288");
        user(1000);
    }

    private static void write(Path root, String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private void limits(String processes, String files) throws IOException {
        write(proc, "self/limits", """
                Limit                     Soft Limit           Hard Limit           Units
                Max processes             %-20s 96364                processes
                Max open files            %-20s 1048576              files
                """.formatted(processes, files));
    }

    private void user(int id) throws IOException {
        String ids = "Uid:\t%1$d\t%1$d\t%1$d\t%1$d\nThreads:\t".formatted(id);
        write(proc, "self/status", ids + "20\n");
        write(proc, "100/status", ids + "20\n");
        write(proc, "200/status", ids + "76\n");
        write(proc, "300/status", "Uid:\t7\t7\t7\t7\nThreads:\t5000\n");
    }

    /** The kernel's own files differ from copies of them: a number below /proc/sys ends after the first read. */
    @Test
    void thisHostHoldsOneAgent() {
        assertThat(new LaunchLimits(1, 2, Path.of("/proc"), Path.of("/sys/fs/cgroup")).lacking())
                .isNull();
    }

    private LaunchLimits of(int agents, long pairs) {
        return new LaunchLimits(agents, pairs, proc, cgroups);
    }

    @Test
    void enoughOfAllIsNotTold() {
        assertThat(of(500, 250_000).lacking()).isNull();
    }

    @Test
    void aLimitOfProcessesIsToldWithItsCure() {
        // 4,000 are left, and 7 of an agent are 4,200.
        assertThat(of(600, 0).lacking())
                .isEqualTo(
                        "this host can't hold the agents of 600 nodes: they need about 4350 processes and threads, and"
                                + " 4000 are free; raise the limit (ulimit -u, LimitNPROC, pids.max)");
    }

    @Test
    void theLimitOfAUserDoesNotHoldForRoot() throws IOException {
        user(0);
        assertThat(of(600, 0).lacking()).isNull();
    }

    @Test
    void aLimitOfAnOuterControlGroupCounts() throws IOException {
        write(cgroups, "user.slice/session/pids.max", "max\n");
        write(cgroups, "user.slice/pids.max", "1000\n");
        write(cgroups, "user.slice/pids.current", "300\n");
        assertThat(of(100, 0).lacking()).contains("850 processes and threads, and 700 are free");
    }

    @Test
    void aLimitOfOpenFilesIsTold() throws IOException {
        limits("unlimited", "1024");
        assertThat(of(400, 0).lacking()).contains("1350 open files, and 1024 are free; raise the limit (ulimit -n");
    }

    @Test
    void memoryIsTold() throws IOException {
        write(proc, "meminfo", "MemAvailable:   1000000 kB\n");
        assertThat(of(100, 1_999_000).lacking())
                .contains("1649 MB of memory, and 1024 MB are free; run on a host with more, or measure less");
    }

    @Test
    void whatTheKernelDoesNotTellIsNoLimit() {
        assertThat(new LaunchLimits(100_000, 0, folder.resolve("nothing"), cgroups).lacking())
                .isNull();
    }

    @Test
    void agentsAndPairsAreThoseOfTheFabric() throws IOException {
        Path file = folder.resolve("fabric.yaml");
        StringBuilder text = new StringBuilder("fabric: test\nnodes:\n");
        for (int node = 0; node < 20; node++) {
            text.append("  - {name: n%d%s, rails: {a: {device: x}, b: {device: y}}}\n"
                    .formatted(node, node == 0 ? "" : ", launch: [ssh, n" + node + "]"));
        }
        Fabric fabric = Fabric.load(Files.writeString(file, text).toString());
        PairSettings all = PairSettings.read(key -> Optional.empty());
        PairSettings some = PairSettings.read(
                key -> Optional.ofNullable(Map.of(PairSettings.ROUNDS, "16").get(key)));

        assertThat(LaunchLimits.of(fabric, all))
                .isEqualTo(new LaunchLimits(19, 2 * 380, Path.of("/proc"), Path.of("/sys/fs/cgroup")));
        assertThat(LaunchLimits.of(fabric, some).pairs()).isEqualTo(2 * 16 * 10);
    }
}
