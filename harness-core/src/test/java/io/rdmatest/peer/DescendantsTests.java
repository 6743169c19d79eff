package io.rdmatest.peer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class DescendantsTests {

    private static Set<Long> pids(Set<ProcessHandle> processes) {
        return processes.stream().map(ProcessHandle::pid).collect(Collectors.toSet());
    }

    @Test
    void childrenAndTheirChildrenAreFoundAndNoOtherProcess() throws Exception {
        Process other = new ProcessBuilder("cat").start();
        Process root = new ProcessBuilder("sh", "-c", "sh -c 'tail -f /dev/null & echo $$ $!; wait' & wait").start();
        try (BufferedReader out = root.inputReader()) {
            String[] line = out.readLine().split(" ");
            assertThat(pids(Descendants.of(root.toHandle(), Descendants.PROC)))
                    .containsExactlyInAnyOrder(Long.valueOf(line[0]), Long.valueOf(line[1]));
        } finally {
            root.descendants().forEach(ProcessHandle::destroyForcibly);
            root.destroyForcibly().waitFor();
            other.destroyForcibly().waitFor();
        }
        assertThat(Descendants.of(root.toHandle(), Descendants.PROC)).isEmpty();
    }

    /** A folder in the place of /proc, which has the two lists that are needed, and no process. */
    @Test
    void onlyTheListsOfChildrenAreRead(@TempDir Path proc) throws Exception {
        Process child = new ProcessBuilder("cat").start();
        try {
            long self = ProcessHandle.current().pid();
            Files.createDirectories(proc.resolve("thread-self/children"));
            list(proc, self, child.pid() + " ");
            list(proc, child.pid(), "");
            assertThat(pids(Descendants.of(ProcessHandle.current(), proc))).containsExactly(child.pid());
        } finally {
            child.destroyForcibly().waitFor();
        }
    }

    @Test
    void aKernelWithoutTheListsIsAskedForAllProcesses(@TempDir Path proc) throws Exception {
        Process child = new ProcessBuilder("cat").start();
        try {
            assertThat(pids(Descendants.of(ProcessHandle.current(), proc))).contains(child.pid());
        } finally {
            child.destroyForcibly().waitFor();
        }
    }

    private static void list(Path proc, long process, String children) throws Exception {
        Path thread = Files.createDirectories(proc.resolve(process + "/task/" + process));
        Files.writeString(thread.resolve("children"), children);
    }
}
