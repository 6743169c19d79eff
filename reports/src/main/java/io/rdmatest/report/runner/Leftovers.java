package io.rdmatest.report.runner;

import io.rdmatest.fabric.fault.Faults;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The processes that a JVM leaves behind when it dies: C programs and agents, which hold ports and devices. Nobody is their
 * parent any more; they are known by a variable of their environment (proc_pid_environ(5)), which they have inherited.
 */
public final class Leftovers {

    private static final long END_SECONDS = 10;

    private final String mark;

    /** Those of JVMs that are still to be started. */
    public Leftovers() {
        this(UUID.randomUUID().toString());
    }

    private Leftovers(String run) {
        mark = Faults.RUN_MARK + "=" + run;
    }

    /** Returns those of the run that this JVM is of; none if it is of no run. */
    static Leftovers ofThisRun() {
        return new Leftovers(String.valueOf(System.getenv(Faults.RUN_MARK)));
    }

    /** Marks what will be started with an environment, and all that descends from it. */
    public void mark(Map<String, String> environment) {
        environment.put(Faults.RUN_MARK, mark.substring(Faults.RUN_MARK.length() + 1));
    }

    /** Ends all that is marked and still there but this JVM, and waits for it: what comes next may want their ports. */
    public void end() {
        List<ProcessHandle> left =
                ProcessHandle.allProcesses().filter(this::isMarked).toList();
        left.forEach(ProcessHandle::destroyForcibly);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
        for (ProcessHandle process : left) {
            try {
                process.onExit().get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
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
            // The handle knows when its process began: another one of the same number is not ended.
            return !process.equals(ProcessHandle.current())
                    && process.isAlive()
                    && List.of(new String(environment, StandardCharsets.ISO_8859_1).split("\0"))
                            .contains(mark);
        } catch (IOException e) {
            // Over already, or another user's.
            return false;
        }
    }
}
