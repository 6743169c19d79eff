package io.rdmatest.scenarios.role;

import io.rdmatest.fabric.FabricDevice;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.Supplier;

/** A context that forwards to another one, for subclasses that change a part of it. */
public class ForwardingContext implements RoleContext {

    private final RoleContext context;

    /** Creates a context that forwards to another one. */
    public ForwardingContext(RoleContext context) {
        this.context = context;
    }

    @Override
    public FabricDevice device() {
        return context.device();
    }

    @Override
    public InetAddress peerAddress() {
        return context.peerAddress();
    }

    @Override
    public boolean staysOnDevice() {
        return context.staysOnDevice();
    }

    @Override
    public void tell(String message) {
        context.tell(message);
    }

    @Override
    public String hear(String what, Duration timeout) {
        return context.hear(what, timeout);
    }

    @Override
    public boolean isCancelled() {
        return context.isCancelled();
    }

    @Override
    public void trace(Supplier<String> what) {
        context.trace(what);
    }
}
