package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_ah;
import java.lang.foreign.MemorySegment;

/** A destination of datagrams (ibv_create_ah(3); IBTA volume 1, section 10.2.2.2). */
public final class AddressHandle extends VerbsObject {

    private final ProtectionDomain protectionDomain;
    private final int number;

    private AddressHandle(ProtectionDomain protectionDomain, MemorySegment handle) {
        this.protectionDomain = protectionDomain;
        this.number = ibv_ah.handle(handle);
        super("ah", handle, protectionDomain.deviceName(), protectionDomain);
    }

    static AddressHandle wrap(ProtectionDomain protectionDomain, MemorySegment handle) {
        MemorySegment ah = handle.reinterpret(ibv_ah.sizeof());
        try {
            return new AddressHandle(protectionDomain, ah);
        } catch (IllegalStateException e) {
            Verbs.destroy(Verbs.DESTROY_AH, protectionDomain.describe(), ah);
            throw e;
        }
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    @Override
    protected void release() {
        Verbs.destroy(Verbs.DESTROY_AH, this::describe, handle);
    }

    @Override
    public String describe() {
        return "ah " + deviceName() + "/" + number;
    }
}
