package io.rdmatest.peer;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The children of a process, their children, and so on. {@link ProcessHandle#descendants} reads all processes of the
 * host to find them. This class reads the kernel's list of children, {@code proc(5)}, and no other process.
 */
final class Descendants {

    static final Path PROC = Path.of("/proc");

    private Descendants() {}

    /** Returns the descendants of a process, parents first; of one that has ended there are none. */
    static Set<ProcessHandle> of(ProcessHandle root, Path proc) {
        if (!Files.exists(proc.resolve("thread-self/children"))) {
            // A kernel without CONFIG_PROC_CHILDREN.
            return root.descendants().collect(Collectors.toSet());
        }
        Set<ProcessHandle> found = new LinkedHashSet<>();
        Deque<ProcessHandle> parents = new ArrayDeque<>(List.of(root));
        while (!parents.isEmpty()) {
            for (String child :
                    children(proc.resolve(Long.toString(parents.pop().pid())))) {
                ProcessHandle.of(Long.parseLong(child)).filter(found::add).ifPresent(parents::add);
            }
        }
        return found;
    }

    private static List<String> children(Path process) {
        List<String> children = new ArrayList<>();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(process.resolve("task"))) {
            for (Path thread : threads) {
                String text = Files.readString(thread.resolve("children")).strip();
                if (!text.isEmpty()) {
                    children.addAll(List.of(text.split(" +")));
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // The process, or one of its threads, has ended meanwhile.
            return children;
        }
        return children;
    }
}
