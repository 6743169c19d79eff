package io.rdmatest.scenarios.interop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** What the kernel knows about the sockets and RDMA objects of another process. */
final class RdmaResources {

    private static final long PATIENCE_SECONDS = 10;
    private static final String TCP_LISTEN = "0A";

    private RdmaResources() {}

    /** Returns whether a process listens, or whether that cannot be found out because there is no rdma tool. */
    static boolean mayListen(long pid) throws IOException, InterruptedException {
        Path tool = CProgram.find("rdma").orElse(null);
        if (tool == null) {
            return true;
        }
        Pattern listener = Pattern.compile("\\bstate LISTEN\\b.*\\bpid " + pid + "\\b");
        return show(tool, "cm_id").stream()
                        .anyMatch(line -> listener.matcher(line).find())
                || listensOnTcp(pid);
    }

    /** Returns the lines of {@code rdma resource show}. */
    static List<String> show(Path tool, String kind) throws IOException, InterruptedException {
        Path output = Files.createTempFile("rdma-resources", ".out");
        try {
            Process process = new ProcessBuilder(tool.toString(), "resource", "show", kind)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException(
                        "rdma resource show " + kind + " did not answer within " + PATIENCE_SECONDS + " s");
            }
            return Files.readAllLines(output, StandardCharsets.UTF_8);
        } finally {
            Files.deleteIfExists(output);
        }
    }

    /** The fourth column of the kernel's list of TCP sockets is the state, the tenth the socket's inode. */
    private static boolean listensOnTcp(long pid) throws IOException {
        Set<String> sockets = new HashSet<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
            for (Path descriptor : descriptors) {
                sockets.add(Files.readSymbolicLink(descriptor).toString());
            }
        } catch (IOException | DirectoryIteratorException e) {
            // The process has just ended or closed a descriptor; whoever waits for it sees that.
            return false;
        }
        for (String family : List.of("tcp", "tcp6")) {
            try {
                for (String line : Files.readAllLines(Path.of("/proc/net/" + family))) {
                    String[] columns = line.strip().split("\\s+");
                    if (columns.length > 9
                            && columns[3].equals(TCP_LISTEN)
                            && sockets.contains("socket:[" + columns[9] + "]")) {
                        return true;
                    }
                }
            } catch (NoSuchFileException e) {
                // A kernel without IPv6.
                continue;
            }
        }
        return false;
    }
}
