package io.rdmatest.scenarios.node;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.peer.LineKind;
import io.rdmatest.peer.Peer;
import io.rdmatest.peer.RemoteRole;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.rping.RpingRoles;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The proxy in this JVM of a role that runs on a node. It forwards the role's messages, lines, results and failures,
 * and ends with the role.
 *
 * @param other the address of the other side; null if it is on the same node
 */
record RemoteRun<R>(
        String title, Peer peer, NodePort on, @Nullable InetAddress other, Role<R> role) implements Role<R> {

    private static final Duration LONG = Duration.ofHours(1);

    /** The limit for a cancelled role to end; less than the limit for this proxy. */
    private static final Duration GRACE = Duration.ofSeconds(12);

    @Override
    public R run(RoleContext context) {
        RoleTypes.Type<? extends Role<R>, ?, R> type = RoleTypes.of(role);
        RemoteRole remote = peer.start(title, type.name(), type.write(role), RoleTypes.write(PlacedNode.of(on, other)));
        Thread ears = Thread.ofVirtual()
                .name(Thread.currentThread().getName() + "-to-" + on.node().name())
                .start(() -> forward(context, remote));
        try {
            return type.readResult(await(context, remote).result());
        } finally {
            ears.interrupt();
            join(ears);
        }
    }

    private static void forward(RoleContext context, RemoteRole remote) {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                remote.tell(context.hear("message for the role on the node", LONG));
            } catch (RdmaTimeoutException e) {
                // It is valid that no message has arrived.
                continue;
            } catch (RoleCancelledException e) {
                remote.wake();
                return;
            }
        }
    }

    private RemoteRole.Done await(RoleContext context, RemoteRole remote) {
        long deadline = 0;
        boolean cancelled = false;
        boolean interrupted = false;
        try {
            while (true) {
                RemoteRole.@Nullable Event event = null;
                try {
                    event = remote.next(cancelled ? Duration.ofNanos(Deadline.nanos(deadline)) : LONG);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
                switch (event) {
                    case null -> {}
                    case RemoteRole.Told told -> context.tell(told.text());
                    case RemoteRole.Said said -> consumer(context, said.kind()).accept(said.text());
                    case RemoteRole.Done done -> {
                        return done;
                    }
                    case RemoteRole.Failed failed -> throw thrown(failed.failure());
                }
                if (!cancelled && (interrupted || context.isCancelled())) {
                    cancelled = true;
                    deadline = Deadline.end(GRACE);
                    remote.cancel();
                }
                if (cancelled && Deadline.isOver(deadline)) {
                    throw new IllegalStateException("The role " + title + " on " + peer.describe()
                            + " did not end within " + GRACE.toSeconds() + " s after it was cancelled");
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private Consumer<String> consumer(RoleContext context, LineKind kind) {
        boolean printed = kind == LineKind.PRINTED;
        return switch (role) {
            case RpingRoles.Server server -> printed ? server.printed() : server.traced();
            case RpingRoles.Client client -> printed ? client.printed() : client.traced();
            default -> text -> context.trace(() -> text);
        };
    }

    /** Returns the role's failure as an exception to throw here. */
    private static RuntimeException thrown(RuntimeException failure) {
        if (Cause.of(failure) == Cause.INTERRUPTED) {
            return new RoleCancelledException();
        }
        failure.setStackTrace(new Throwable().getStackTrace());
        return failure;
    }

    private static void join(Thread thread) {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
