package io.rdmatest.scenarios.engine;

import io.rdmatest.fabric.FabricDevice;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.Supplier;

/** The context of a role, of which a part is to be different. */
public class ForwardingContext implements RoleContext {

    private final RoleContext context;

    /** Forwards to another context what a subclass does not override. */
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
