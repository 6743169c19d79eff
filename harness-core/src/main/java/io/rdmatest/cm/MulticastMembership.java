package io.rdmatest.cm;

import io.rdmatest.NativeResource;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.QueuePair;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Membership of an id in a multicast group (rdma_join_multicast_ex(3)). Closing leaves the group and detaches the id's
 * queue pair (rdma_leave_multicast(3)). Close it before the queue pair and the id.
 */
public final class MulticastMembership extends NativeResource {

    private final String name;
    private final JoinFlag flag;
    private final UdParameters parameters;
    private final Runnable leave;

    MulticastMembership(
            CmId id,
            @Nullable QueuePair attached,
            String name,
            JoinFlag flag,
            UdParameters parameters,
            Runnable leave) {
        this.name = name;
        this.flag = flag;
        this.parameters = parameters;
        this.leave = leave;
        super("multicast", id, attached);
    }

    /** Returns the group's MGID. */
    public Gid mgid() {
        return Objects.requireNonNull(address().gid(), "a multicast address has a GID");
    }

    /** Returns the group's MLID: 0xC000 or above on InfiniBand, without meaning on RoCE. */
    public int lid() {
        return address().lid();
    }

    /** Returns the queue pair number to send to: always 0xFFFFFF. */
    public int qpNumber() {
        return parameters.qpNumber();
    }

    /** Returns the Q_Key to send with. */
    public int qkey() {
        return parameters.qkey();
    }

    /** Returns the attributes of an address handle for the group. */
    public AddressHandleAttributes address() {
        return parameters.requireAddress();
    }

    /** Returns how the group was joined. */
    public JoinFlag flag() {
        return flag;
    }

    @Override
    public String describe() {
        return "multicast group " + name;
    }

    @Override
    protected void release() {
        leave.run();
    }
}
