package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_ah_attr;
import io.rdmatest.ffi.ibv_qp_attr;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A change of a queue pair, or its present attributes (struct ibv_qp_attr; ibv_modify_qp(3); IBTA volume 1, section 11.2.5.2).
 * The attribute mask has the bits of all values that are set.
 */
public final class QueuePairModification {

    private static final int STATE = 1;
    private static final int CURRENT_STATE = 1 << 1;
    private static final int ACCESS_FLAGS = 1 << 3;
    private static final int PKEY_INDEX = 1 << 4;
    private static final int PORT = 1 << 5;
    private static final int QKEY = 1 << 6;
    private static final int ADDRESS_VECTOR = 1 << 7;
    private static final int PATH_MTU = 1 << 8;
    private static final int TIMEOUT = 1 << 9;
    private static final int RETRY_COUNT = 1 << 10;
    private static final int RNR_RETRY = 1 << 11;
    private static final int RECEIVE_PSN = 1 << 12;
    private static final int MAX_READ_ATOMIC = 1 << 13;
    private static final int MIN_RNR_TIMER = 1 << 15;
    private static final int SEND_PSN = 1 << 16;
    private static final int MAX_DESTINATION_READ_ATOMIC = 1 << 17;
    private static final int DESTINATION_QP = 1 << 20;
    private static final String[] NAMES = {
        "STATE",
        "CUR_STATE",
        "EN_SQD_ASYNC_NOTIFY",
        "ACCESS_FLAGS",
        "PKEY_INDEX",
        "PORT",
        "QKEY",
        "AV",
        "PATH_MTU",
        "TIMEOUT",
        "RETRY_CNT",
        "RNR_RETRY",
        "RQ_PSN",
        "MAX_QP_RD_ATOMIC",
        "ALT_PATH",
        "MIN_RNR_TIMER",
        "SQ_PSN",
        "MAX_DEST_RD_ATOMIC",
        "PATH_MIG_STATE",
        "CAP",
        "DEST_QPN"
    };

    /** Everything above. */
    private static final int ALL = STATE
            | CURRENT_STATE
            | ACCESS_FLAGS
            | PKEY_INDEX
            | PORT
            | QKEY
            | ADDRESS_VECTOR
            | PATH_MTU
            | TIMEOUT
            | RETRY_COUNT
            | RNR_RETRY
            | RECEIVE_PSN
            | MAX_READ_ATOMIC
            | MIN_RNR_TIMER
            | SEND_PSN
            | MAX_DESTINATION_READ_ATOMIC
            | DESTINATION_QP;

    /** The attributes of a queue pair of datagrams: efa refuses to query any other attribute. */
    private static final int ALL_OF_DATAGRAMS = STATE | PKEY_INDEX | PORT | QKEY | SEND_PSN;

    private final MemorySegment attr;
    private final int mask;

    /** Returns the attribute mask for ibv_query_qp(3). */
    static int allOf(QpType type) {
        return type == QpType.UD ? ALL_OF_DATAGRAMS : ALL;
    }

    private QueuePairModification(MemorySegment source, int mask) {
        // The struct lies on the heap: a modification holds no native memory and needs no close.
        this.attr = MemorySegment.ofArray(new long[(int) ((ibv_qp_attr.sizeof() + 7) / 8)]);
        MemorySegment.copy(source, 0, attr, 0, ibv_qp_attr.sizeof());
        this.mask = mask;
    }

    static QueuePairModification read(MemorySegment attr, int mask) {
        return new QueuePairModification(attr.reinterpret(ibv_qp_attr.sizeof()), mask);
    }

    /**
     * Begins a transition.
     *
     * @param state the state to go to
     * @return a builder with only the state set
     */
    public static Builder to(QpState state) {
        return new Builder().state(state);
    }

    /** Begins a change that keeps the state. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with a copy of these values. */
    public Builder toBuilder() {
        return new Builder(attr, mask);
    }

    void write(MemorySegment target) {
        MemorySegment.copy(attr, 0, target, 0, ibv_qp_attr.sizeof());
    }

    /** Returns the {@code IBV_QP_*} bits of the values that are set. */
    public int mask() {
        return mask;
    }

    private void require(int bit) {
        if ((mask & bit) == 0) {
            throw new IllegalStateException(names(bit) + " is not set");
        }
    }

    /** Returns the state to go to, or the present one; {@link QpState#UNKNOWN} if it is not set. */
    public QpState state() {
        return (mask & STATE) == 0 ? QpState.UNKNOWN : QpState.of(ibv_qp_attr.qp_state(attr));
    }

    /** Returns the state that the queue pair is or has to be in; {@link QpState#UNKNOWN} if it is not set. */
    public QpState currentState() {
        return (mask & CURRENT_STATE) == 0 ? QpState.UNKNOWN : QpState.of(ibv_qp_attr.cur_qp_state(attr));
    }

    /** Returns the access that the peer has. */
    public Set<Access> access() {
        require(ACCESS_FLAGS);
        return Access.ofMask(ibv_qp_attr.qp_access_flags(attr));
    }

    /** Returns the local port. */
    public int port() {
        require(PORT);
        return ibv_qp_attr.port_num(attr) & 0xff;
    }

    /** Returns the index of the partition key. */
    public int pkeyIndex() {
        require(PKEY_INDEX);
        return ibv_qp_attr.pkey_index(attr) & 0xffff;
    }

    boolean setsState() {
        return (mask & STATE) != 0;
    }

    boolean setsPortAndPkey() {
        return (mask & (PORT | PKEY_INDEX)) == (PORT | PKEY_INDEX);
    }

    /** Returns the queue key; UD only. */
    public int qkey() {
        require(QKEY);
        return ibv_qp_attr.qkey(attr);
    }

    /** Returns the path MTU. */
    public Mtu pathMtu() {
        require(PATH_MTU);
        return Mtu.of(ibv_qp_attr.path_mtu(attr));
    }

    /** Returns the peer's queue pair. */
    public int destinationQp() {
        require(DESTINATION_QP);
        return ibv_qp_attr.dest_qp_num(attr);
    }

    /** Returns the packet sequence number that is expected. */
    public int receivePsn() {
        require(RECEIVE_PSN);
        return ibv_qp_attr.rq_psn(attr);
    }

    /** Returns the packet sequence number that is sent next. */
    public int sendPsn() {
        require(SEND_PSN);
        return ibv_qp_attr.sq_psn(attr);
    }

    /** Returns the destination; null if none is set. */
    public @Nullable AddressHandleAttributes addressVector() {
        // A queue pair that was never connected has port 0, which is no address vector.
        return (mask & ADDRESS_VECTOR) == 0 || ibv_ah_attr.port_num(ibv_qp_attr.ah_attr(attr)) == 0
                ? null
                : Structs.addressHandle(ibv_qp_attr.ah_attr(attr));
    }

    /** Returns the local ACK timeout as an exponent: 4.096 us times 2^value; 0 is for ever. */
    public int timeout() {
        require(TIMEOUT);
        return ibv_qp_attr.timeout(attr) & 0xff;
    }

    /** Returns how often a request without answer is repeated, 0 to 7. */
    public int retryCount() {
        require(RETRY_COUNT);
        return ibv_qp_attr.retry_cnt(attr) & 0xff;
    }

    /** Returns how often a request is repeated after receiver-not-ready, 0 to 7; 7 is for ever. */
    public int rnrRetry() {
        require(RNR_RETRY);
        return ibv_qp_attr.rnr_retry(attr) & 0xff;
    }

    /** Returns the code of the time that a peer has to wait after receiver-not-ready, 0 to 31. */
    public int minRnrTimer() {
        require(MIN_RNR_TIMER);
        return ibv_qp_attr.min_rnr_timer(attr) & 0xff;
    }

    /** Returns how many reads and atomics may be outstanding as the initiator. */
    public int maxReadAtomic() {
        require(MAX_READ_ATOMIC);
        return ibv_qp_attr.max_rd_atomic(attr) & 0xff;
    }

    /** Returns how many reads and atomics may be outstanding as the target. */
    public int maxDestinationReadAtomic() {
        require(MAX_DESTINATION_READ_ATOMIC);
        return ibv_qp_attr.max_dest_rd_atomic(attr) & 0xff;
    }

    private static String names(int mask) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 32; i++) {
            if ((mask & 1 << i) != 0) {
                text.append(text.isEmpty() ? "" : "|").append(i < NAMES.length ? "IBV_QP_" + NAMES[i] : "bit " + i);
            }
        }
        return text.toString();
    }

    /** Returns the state and the names of the values that are set. */
    @Override
    public String toString() {
        return ((mask & STATE) != 0 ? "to " + state() + ", " : "") + names(mask);
    }

    /** Builds a modification; every value that is set enters the mask. */
    public static final class Builder {

        private final MemorySegment attr = MemorySegment.ofArray(new long[(int) ((ibv_qp_attr.sizeof() + 7) / 8)]);
        private int mask;

        private Builder() {}

        private Builder(MemorySegment source, int mask) {
            MemorySegment.copy(source, 0, attr, 0, ibv_qp_attr.sizeof());
            this.mask = mask;
        }

        /**
         * Sets the state to go to.
         *
         * @param state the state
         */
        public Builder state(QpState state) {
            if (state == QpState.UNKNOWN) {
                throw new IllegalArgumentException("UNKNOWN is no state to go to");
            }
            ibv_qp_attr.qp_state(attr, state.code());
            return with(STATE);
        }

        /**
         * Sets the state that the transition starts from. Use it where the device may have changed the state by itself.
         *
         * @param state the state
         */
        public Builder currentState(QpState state) {
            if (state == QpState.UNKNOWN) {
                throw new IllegalArgumentException("UNKNOWN is no state to start from");
            }
            ibv_qp_attr.cur_qp_state(attr, state.code());
            return with(CURRENT_STATE);
        }

        /**
         * Sets what the peer may do through this queue pair.
         *
         * @param access the access; none allows sends only
         */
        public Builder access(Access... access) {
            return access(Arrays.asList(access));
        }

        /**
         * Sets what the peer may do through this queue pair.
         *
         * @param access the access; none allows sends only
         */
        public Builder access(Collection<Access> access) {
            ibv_qp_attr.qp_access_flags(attr, Access.mask(access));
            return with(ACCESS_FLAGS);
        }

        /**
         * Sets the local port.
         *
         * @param port from 1
         */
        public Builder port(int port) {
            DeviceContext.checkPort(port);
            ibv_qp_attr.port_num(attr, (byte) port);
            return with(PORT);
        }

        /**
         * Sets the index of the partition key.
         *
         * @param index 0 to 65535
         */
        public Builder pkeyIndex(int index) {
            ibv_qp_attr.pkey_index(attr, (short) range("pkeyIndex", index, 0xffff));
            return with(PKEY_INDEX);
        }

        /**
         * Sets the queue key; UD only.
         *
         * @param qkey the key; a key with the top bit set needs privilege
         */
        public Builder qkey(int qkey) {
            ibv_qp_attr.qkey(attr, qkey);
            return with(QKEY);
        }

        /**
         * Sets the path MTU.
         *
         * @param mtu not above the port's active MTU
         */
        public Builder pathMtu(Mtu mtu) {
            if (mtu == Mtu.UNKNOWN) {
                throw new IllegalArgumentException("the path MTU must be known");
            }
            ibv_qp_attr.path_mtu(attr, mtu.code());
            return with(PATH_MTU);
        }

        /**
         * Sets the peer's queue pair.
         *
         * @param number 24 bits
         */
        public Builder destinationQp(int number) {
            ibv_qp_attr.dest_qp_num(attr, range("destinationQp", number, 0xffffff));
            return with(DESTINATION_QP);
        }

        /**
         * Sets the packet sequence number to expect.
         *
         * @param psn 24 bits; the peer's send PSN
         */
        public Builder receivePsn(int psn) {
            ibv_qp_attr.rq_psn(attr, range("receivePsn", psn, 0xffffff));
            return with(RECEIVE_PSN);
        }

        /**
         * Sets the packet sequence number to send first.
         *
         * @param psn 24 bits; the peer's receive PSN
         */
        public Builder sendPsn(int psn) {
            ibv_qp_attr.sq_psn(attr, range("sendPsn", psn, 0xffffff));
            return with(SEND_PSN);
        }

        /**
         * Sets the destination.
         *
         * @param destination the address vector
         */
        public Builder addressVector(AddressHandleAttributes destination) {
            Structs.addressHandle(ibv_qp_attr.ah_attr(attr), destination);
            return with(ADDRESS_VECTOR);
        }

        /**
         * Sets the local ACK timeout.
         *
         * @param exponent 4.096 us times 2^exponent; 1 to 31, 0 is for ever
         */
        public Builder timeout(int exponent) {
            ibv_qp_attr.timeout(attr, (byte) range("timeout", exponent, 31));
            return with(TIMEOUT);
        }

        /**
         * Sets how often a request without answer is repeated.
         *
         * @param count 0 to 7; soft-RoCE retries without end if it is 7
         */
        public Builder retryCount(int count) {
            ibv_qp_attr.retry_cnt(attr, (byte) range("retryCount", count, 7));
            return with(RETRY_COUNT);
        }

        /**
         * Sets how often a request is repeated after receiver-not-ready.
         *
         * @param count 0 to 6; 7 is for ever
         */
        public Builder rnrRetry(int count) {
            ibv_qp_attr.rnr_retry(attr, (byte) range("rnrRetry", count, 7));
            return with(RNR_RETRY);
        }

        /**
         * Sets how long the peer waits after receiver-not-ready.
         *
         * @param code 0 to 31 as in IBTA volume 1, table 45: 1 is 0.01 ms, 12 is 0.64 ms, 31 is 491 ms, 0 is 655 ms
         */
        public Builder minRnrTimer(int code) {
            ibv_qp_attr.min_rnr_timer(attr, (byte) range("minRnrTimer", code, 31));
            return with(MIN_RNR_TIMER);
        }

        /**
         * Sets how many reads and atomics may be outstanding as the initiator.
         *
         * @param count 0 to 255, within the device's maxQpInitRdAtom
         */
        public Builder maxReadAtomic(int count) {
            ibv_qp_attr.max_rd_atomic(attr, (byte) range("maxReadAtomic", count, 255));
            return with(MAX_READ_ATOMIC);
        }

        /**
         * Sets how many reads and atomics may be outstanding as the target.
         *
         * @param count 0 to 255, within the device's maxQpRdAtom
         */
        public Builder maxDestinationReadAtomic(int count) {
            ibv_qp_attr.max_dest_rd_atomic(attr, (byte) range("maxDestinationReadAtomic", count, 255));
            return with(MAX_DESTINATION_READ_ATOMIC);
        }

        private Builder with(int bit) {
            mask |= bit;
            return this;
        }

        private static int range(String name, int value, int max) {
            AddressHandleAttributes.range(name, value, max);
            return value;
        }

        /** Builds the modification. */
        public QueuePairModification build() {
            return new QueuePairModification(attr, mask);
        }
    }
}
