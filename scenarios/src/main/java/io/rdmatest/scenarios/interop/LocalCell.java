package io.rdmatest.scenarios.interop;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.SkipReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.cprogram.Ports;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.ScenarioException;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/** Runs a cell with our side in this JVM and the programs on this host or another node, and ends whatever it started. */
final class LocalCell implements CellContext {

    private final FabricDevice device;
    private final Place here;
    private final Place there;
    private final Duration step;
    private final LocalRoles roles = new LocalRoles();
    private final List<CProgram> programs = new ArrayList<>();
    private final Map<String, String> notes = new LinkedHashMap<>();

    private LocalCell(Place here, Place there, Duration step) {
        this.device = here.local()
                .orElseThrow(() -> new IllegalArgumentException(here + " is not in this JVM, as our side is"));
        this.here = here;
        this.there = there;
        this.step = step;
    }

    /**
     * The result of a cell.
     *
     * @param bytes payload bytes compared or counted
     * @param notes the notes about the cell, by name: command lines, our options
     */
    record Result(long bytes, Map<String, String> notes) {}

    /**
     * Runs a cell.
     *
     * @param repeat how to run the same cell again, for the message of a failure
     * @throws AssertionError if the two sides disagree
     * @throws IllegalStateException if the harness or the host did not work
     * @throws TestAbortedException if the program is not installed
     */
    static Result run(Cell cell, FabricDevice device, Duration step, Fault fault, String repeat) {
        try (Place here = Place.here(device)) {
            return run(cell, here, here, step, fault, repeat);
        }
    }

    /**
     * Runs a cell across nodes, if there are two places.
     *
     * @param here the place of our side, which is in this JVM
     * @param there the place of the programs
     */
    static Result run(Cell cell, Place here, Place there, Duration step, Fault fault, String repeat) {
        LocalCell context = new LocalCell(here, there, step);
        Throwable failure = null;
        long bytes = 0;
        try {
            bytes = cell.run().run(context, fault);
        } catch (Throwable e) {
            failure = e;
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
        failure = context.end(failure);
        if (failure instanceof TestAbortedException skipped) {
            throw skipped;
        }
        if (failure instanceof ScenarioException why && why.rdmaCause() == Cause.UNSUPPORTED) {
            throw new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(why.getMessage()));
        }
        if (failure != null) {
            String message = context.message(cell, failure, repeat);
            if (Cause.of(failure).verdict() == Cause.Verdict.FAILED) {
                throw new AssertionError(message, failure);
            }
            throw new IllegalStateException(message, failure);
        }
        return new Result(bytes, context.notes);
    }

    private String message(Cell cell, Throwable failure, String repeat) {
        StringBuilder text = new StringBuilder(cell.toString())
                .append(": ")
                .append(failure.getMessage() == null ? failure.toString() : failure.getMessage());
        notes.forEach(
                (name, value) -> text.append('\n').append(name).append(": ").append(value));
        for (CProgram program : programs) {
            text.append('\n').append(program.describe());
        }
        return text.append('\n').append(repeat).toString();
    }

    /** Ends the roles, then the programs: a cancelled role does not report the loss of a killed peer. */
    private @Nullable Throwable end(@Nullable Throwable failure) {
        Throwable first = failure;
        try {
            roles.close();
        } catch (Throwable e) {
            first = add(first, e);
        }
        for (CProgram program : programs) {
            try {
                program.close();
            } catch (RuntimeException e) {
                first = add(first, e);
            }
        }
        return first;
    }

    private static Throwable add(@Nullable Throwable first, Throwable next) {
        if (first == null) {
            return next;
        }
        if (first != next) {
            first.addSuppressed(next);
        }
        return first;
    }

    @Override
    public FabricDevice device() {
        return device;
    }

    @Override
    public InetAddress ours(boolean ipv4) {
        return addressOf(here, ipv4);
    }

    @Override
    public InetAddress theirs(boolean ipv4) {
        return addressOf(there, ipv4);
    }

    @Override
    public InetAddress ours() {
        return here.address();
    }

    @Override
    public InetAddress theirs() {
        return there.address();
    }

    private static InetAddress addressOf(Place place, boolean ipv4) {
        return place.facts()
                .address(ipv4)
                .orElseThrow(() ->
                        new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because("the network interface of "
                                + place.facts().environment().get("device") + " of node " + place.name() + " has no "
                                + (ipv4 ? "IPv4" : "IPv6") + " address")));
    }

    @Override
    public int port() {
        return Ports.next();
    }

    @Override
    public Duration step() {
        return step;
    }

    @Override
    public CProgram start(String program, Object... arguments) throws IOException {
        CProgram started = CProgram.start(there.launch(), step, program, arguments);
        programs.add(started);
        note(programs.size() == 1 ? "command" : "command " + programs.size(), started.command());
        return started;
    }

    @Override
    public <R> R connect(CProgram server, Role<R> client) throws Exception {
        note("our client", components(client));
        long deadline = Deadline.end(step);
        // A client that comes too early is refused, and a server that counts its clients might count a part of it.
        server.awaitListening(deadline);
        while (true) {
            try (LocalRoles attempt = new LocalRoles()) {
                return attempt.start("client", device, client).join(step.multipliedBy(2));
            } catch (UnexpectedCmEventException | RdmaException | ScenarioException e) {
                if (!nobodyListened(e)) {
                    throw e;
                }
                server.awaitNextTry(deadline, e);
            }
        }
    }

    private static boolean nobodyListened(RuntimeException failure) {
        return switch (failure) {
            case UnexpectedCmEventException e -> e.got().equals("RDMA_CM_EVENT_REJECTED");
            case RdmaException e -> e.errnoName().equals("ECONNREFUSED");
            case ScenarioException e -> e.rdmaCause() == Cause.PEER_ABSENT;
            default -> false;
        };
    }

    /** Returns the components of a record without the record's name and the brackets. */
    private static String components(Object role) {
        return role.toString().replaceFirst("^\\w+\\[(.*)]$", "$1");
    }

    @Override
    public LocalRoles roles() {
        return roles;
    }

    @Override
    public void note(String name, Object value) {
        notes.put(name, value.toString());
    }
}
