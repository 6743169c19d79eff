package io.rdmatest.scenarios.runner;

import io.rdmatest.Deadline;
import io.rdmatest.fabric.fault.Faults;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The processes that a JVM leaves behind when it dies: C programs and agents, which hold ports and devices. They have lost their
 * parent process. They are recognized by an inherited variable of their environment (proc_pid_environ(5)).
 */
public final class MarkedProcesses {

    private static final Duration END = Duration.ofSeconds(10);

    private final String mark;

    /** Marks the processes of JVMs that are still to be started. */
    public MarkedProcesses() {
        this(UUID.randomUUID().toString());
    }

    private MarkedProcesses(String run) {
        mark = Faults.RUN_MARK + "=" + run;
    }

    /** Returns the processes of the run that this JVM belongs to; none if it belongs to no run. */
    static MarkedProcesses ofThisRun() {
        return new MarkedProcesses(String.valueOf(System.getenv(Faults.RUN_MARK)));
    }

    /** Marks the processes that will be started with an environment, and all of their descendants. */
    public void mark(Map<String, String> environment) {
        environment.put(Faults.RUN_MARK, mark.substring(Faults.RUN_MARK.length() + 1));
    }

    /** Ends all marked processes except this JVM, and waits for their end, because the next processes may need their ports. */
    public void end() {
        List<ProcessHandle> left =
                ProcessHandle.allProcesses().filter(this::isMarked).toList();
        left.forEach(ProcessHandle::destroyForcibly);
        long deadline = Deadline.end(END);
        for (ProcessHandle process : left) {
            try {
                process.onExit().get(Deadline.nanos(deadline), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            } catch (ExecutionException | TimeoutException e) {
                System.err.println("./qualify: process " + process.pid() + " was left behind and does not end");
            }
        }
    }

    private boolean isMarked(ProcessHandle process) {
        try {
            byte[] environment = Files.readAllBytes(Path.of("/proc", Long.toString(process.pid()), "environ"));
            // The handle knows the start time of its process. So another process with the same id is not ended.
            return !process.equals(ProcessHandle.current())
                    && process.isAlive()
                    && List.of(new String(environment, StandardCharsets.ISO_8859_1).split("\0"))
                            .contains(mark);
        } catch (IOException e) {
            // The process has already ended, or belongs to another user.
            return false;
        }
    }
}
