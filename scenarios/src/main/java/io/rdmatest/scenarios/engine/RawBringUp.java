package io.rdmatest.scenarios.engine;

import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The exchange that replaces rdma_cm: one line of text in each direction, then one more when the queue pair can
 * receive.
 */
final class RawBringUp {

    private static final String READY = "ready";
    private static final String DONE = "done";

    /** The default parameters, with finite retries. */
    private static final RawConnection.Parameters PARAMETERS =
            RawConnection.Parameters.DEFAULT.withTimeout(RcLink.ACK_TIMEOUT, RcLink.RETRIES);

    private RawBringUp() {}

    static void connect(
            RoleContext context,
            RcLink link,
            DeviceContext device,
            GidEntry gid,
            RcLink.Spec spec,
            RcLink.Preparation preparation) {
        QueuePair queuePair = link.queuePair();
        int psn = ThreadLocalRandom.current().nextInt(1 << 24);
        RawAddress local = RawAddress.of(queuePair, gid, psn);
        RawConnection.Parameters parameters = PARAMETERS.withReadAtomic(spec.depth(), spec.depth());
        RawConnection.init(queuePair, local, parameters);
        byte[] data = preparation.prepare(link);
        long start = System.nanoTime();
        context.tell(encode(local, data));
        String[] answer =
                context.hear("address of the peer's queue pair", spec.timeout()).split(" ", -1);
        link.peerData(HexFormat.of().parseHex(answer[6]));
        RawConnection.establish(queuePair, local, decode(answer), parameters);
        // The peer must be able to receive before the first packet leaves.
        context.tell(READY);
        String ready = context.hear("readiness of the peer's queue pair", spec.timeout());
        if (!ready.equals(READY)) {
            throw new IllegalStateException("The peer sent '" + ready + "' instead of '" + READY + "'");
        }
        link.connectNanos = System.nanoTime() - start;
    }

    /**
     * Waits until the other side is done, like DISCONNECTED with rdma_cm. A queue pair that is destroyed at once can't
     * acknowledge a retransmission of the peer's last packet.
     */
    static void part(RoleContext context, Duration timeout) {
        context.tell(DONE);
        String done = context.hear("end of the peer", timeout);
        if (!done.equals(DONE)) {
            throw new IllegalStateException("The peer sent '" + done + "' instead of '" + DONE + "'");
        }
    }

    /** Returns an address and private data as a message for the peer. */
    static String encode(RawAddress address, byte[] data) {
        HexFormat hex = HexFormat.of();
        return String.join(
                " ",
                hex.formatHex(address.gid().bytes()),
                Integer.toString(address.qpNumber()),
                Integer.toString(address.psn()),
                address.mtu().name(),
                Integer.toString(address.lid()),
                Integer.toString(address.port()),
                hex.formatHex(data));
    }

    /** Reads the address of a peer from the fields of its message. */
    static RawAddress decode(String[] fields) {
        return new RawAddress(
                Gid.of(HexFormat.of().parseHex(fields[0])),
                0,
                Integer.parseInt(fields[5]),
                Integer.parseInt(fields[1]),
                Integer.parseInt(fields[2]),
                Mtu.valueOf(fields[3]),
                Integer.parseInt(fields[4]));
    }
}
