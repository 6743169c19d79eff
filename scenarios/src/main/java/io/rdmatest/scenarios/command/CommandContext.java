package io.rdmatest.scenarios.command;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.RoleContext;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The context of a role on the command line: the device that the options select, and no channel to the other side. */
public final class CommandContext implements RoleContext {

    private final Options<?> options;
    private final PrintWriter err;
    private final BooleanSupplier cancelled;
    private @Nullable FabricDevice device;

    public CommandContext(Options<?> options, PrintWriter err, BooleanSupplier cancelled) {
        this.options = options;
        this.err = err;
        this.cancelled = cancelled;
    }

    /** Finds the device on demand: a wrong option is an error on a host without a device, too. */
    @Override
    public synchronized FabricDevice device() {
        FabricDevice found = device;
        if (found == null) {
            Fabric fabric = Fabric.load();
            if (options.device().isPresent()) {
                fabric = fabric.withDevice(options.device().get());
            }
            NodePort local = fabric.local().port();
            found = (options.gidIndex().isEmpty()
                            ? local
                            : local.onGid(options.gidIndex().getAsInt()))
                    .resolve();
            device = found;
        }
        return found;
    }

    @Override
    public boolean staysOnDevice() {
        return options.selectsDevice();
    }

    /** Prints the message: a person may need it for the other side, such as the port that the kernel chose. */
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
                "The command line must give this side the " + what + " as an option; --help lists the options");
    }

    @Override
    public boolean isCancelled() {
        return cancelled.getAsBoolean();
    }
}
