package io.rdmatest.scenarios.cprogram;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads from the kernel the sockets and RDMA objects of another process. */
public final class RdmaResources {

    private static final long PATIENCE_SECONDS = 10;

    /** A launch command may have to log in first, which takes an emulated processor seconds for its keys alone. */
    private static final long LAUNCHED_PATIENCE_SECONDS = 30;

    private static final String TCP_LISTEN = "0A";

    private RdmaResources() {}

    private static final List<String> KINDS = List.of("qp", "cq", "mr", "pd", "cm_id", "srq");

    /** The name of an object in a line such as {@code link rxe0/1 lqpn 17 type RC state RTS ... pid 123 comm rping}. */
    private static final Pattern NAME = Pattern.compile("(\\S+ (?:lqpn|cqn|mrn|pdn|cm-idn|srqn) \\d+)\\b");

    private static final Pattern PID = Pattern.compile("\\bpid (\\d+)\\b");
    private static final Pattern LISTENER = Pattern.compile("\\bstate LISTEN\\b");

    /**
     * Returns the RDMA objects of a process that runs, as {@code rdma resource show} (rdma-resource(8)) lists them.
     *
     * @return their names, such as {@code rxe0/1 lqpn 17}, without the objects of threads that have ended
     * @throws IllegalStateException if there is no rdma tool, or it does not answer
     */
    public static List<String> of(long pid) throws IOException, InterruptedException {
        Set<String> threads = threads(pid);
        return names(lines(KINDS).stream().filter(line -> isOf(threads, line)).toList());
    }

    /** Returns the names of all RDMA objects of this host, as {@link #of} does. */
    public static List<String> all() throws IOException, InterruptedException {
        return names(lines(KINDS));
    }

    /** Returns whether a process listens, or whether that cannot be found out because there is no rdma tool. */
    public static boolean mayListen(long pid) throws IOException, InterruptedException {
        if (CProgram.find("rdma").isEmpty()) {
            return true;
        }
        Set<String> threads = threads(pid);
        return lines(List.of("cm_id")).stream()
                        .anyMatch(line -> LISTENER.matcher(line).find() && isOf(threads, line))
                || listensOnTcp(pid);
    }

    /**
     * Returns whether a program of this name listens on another node. For rstream that is unknown before a try, because the
     * kernel shows its listeners under the name of librdmacm's thread or as TCP.
     */
    static boolean mayListen(List<String> launch, String program) throws IOException, InterruptedException {
        if (program.equals("rstream")) {
            return true;
        }
        List<String> command = new ArrayList<>(launch);
        command.addAll(List.of("rdma", "resource", "show", "cm_id"));
        Pattern name = Pattern.compile("\\bcomm " + Pattern.quote(program) + "\\b");
        return show(command, LAUNCHED_PATIENCE_SECONDS).stream()
                .anyMatch(line ->
                        LISTENER.matcher(line).find() && name.matcher(line).find());
    }

    /** Returns the threads of a process. The kernel's "pid" of an object is the id of the thread that created it. */
    private static Set<String> threads(long pid) throws IOException {
        Set<String> threads = new HashSet<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
            entries.forEach(entry -> threads.add(String.valueOf(entry.getFileName())));
        } catch (NoSuchFileException | DirectoryIteratorException e) {
            // The process has just ended. The wait for the process detects that.
            return Set.of();
        }
        return threads;
    }

    private static boolean isOf(Set<String> threads, String line) {
        Matcher matcher = PID.matcher(line);
        return matcher.find() && threads.contains(matcher.group(1));
    }

    private static List<String> names(List<String> lines) {
        return lines.stream()
                .map(NAME::matcher)
                .filter(Matcher::find)
                .map(matcher -> matcher.group(1))
                .toList();
    }

    private static List<String> lines(List<String> kinds) throws IOException, InterruptedException {
        Path tool = CProgram.find("rdma")
                .orElseThrow(() ->
                        new IllegalStateException("The tool rdma is not installed (Debian: apt-get install iproute2)"));
        List<String> lines = new ArrayList<>();
        for (String kind : kinds) {
            lines.addAll(show(List.of(tool.toString(), "resource", "show", kind), PATIENCE_SECONDS));
        }
        return lines;
    }

    /** Returns the lines of {@code rdma resource show}. */
    private static List<String> show(List<String> command, long seconds) throws IOException, InterruptedException {
        Path output = Files.createTempFile("rdma-resources", ".out");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException(String.join(" ", command) + " did not answer within " + seconds + " s");
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
            // The process has just ended or closed a descriptor. The wait for the process detects that.
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
