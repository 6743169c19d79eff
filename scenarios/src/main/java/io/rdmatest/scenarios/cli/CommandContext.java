package io.rdmatest.scenarios.cli;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.scenarios.engine.RoleContext;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** What a role is given on the command line: the device that the options select, and nobody to talk to. */
final class CommandContext implements RoleContext {

    private final CommonOptions common;
    private final PrintWriter err;
    private final BooleanSupplier cancelled;
    private @Nullable FabricDevice device;

    CommandContext(CommonOptions common, PrintWriter err, BooleanSupplier cancelled) {
        this.common = common;
        this.err = err;
        this.cancelled = cancelled;
    }

    /** Finds the device when it is first asked for: a wrong option is an error on a host without one, too. */
    @Override
    public synchronized FabricDevice device() {
        FabricDevice found = device;
        if (found == null) {
            Fabric fabric = Fabric.load();
            if (common.device().isPresent()) {
                fabric = fabric.withDevice(common.device().get());
            }
            found = select(fabric.local()).resolve();
            device = found;
        }
        return found;
    }

    private Node select(Node node) {
        if (common.gidIndex().isEmpty()) {
            return node;
        }
        GidSelector gid = GidSelector.ofIndex(common.gidIndex().getAsInt());
        return new Node(
                node.fabric(), node.name(), node.device(), node.port(), gid, null, node.launch(), node.promises());
    }

    @Override
    public boolean staysOnDevice() {
        return common.selectsDevice();
    }

    /** Shows the message, for a person may carry it to the other host: the port that the kernel chose, for example. */
    @Override
    public void tell(String message) {
        synchronized (err) {
            err.println(message.matches("\\d+") ? "listening on port " + message : message);
            err.flush();
        }
    }

    @Override
    public String hear(String what, Duration timeout) {
        throw new IllegalStateException(
                "On the command line nobody tells this side the " + what + "; give it as an option, --help lists them");
    }

    @Override
    public boolean isCancelled() {
        return cancelled.getAsBoolean();
    }
}
