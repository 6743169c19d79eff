package io.rdmatest.verbs;

import io.rdmatest.Cause;
import org.jspecify.annotations.Nullable;

/**
 * A completed work request (ibv_poll_cq(3); IBTA volume 1, section 11.4.2.1).
 *
 * <p>After a failure only {@code wrId}, {@code status}, {@code vendorError} and {@code qpNumber} are defined.
 *
 * @param wrId the identifier that the request was posted with
 * @param status how it ended
 * @param opcode which operation completed
 * @param vendorError the device's own error code; 0 if it has none
 * @param byteLength bytes transferred; for a receive. On UD they include the 40 bytes before the payload
 * @param immediate immediate data, host order; 0 unless {@code hasImmediate}
 * @param qpNumber the local queue pair
 * @param sourceQp the remote queue pair; UD only
 * @param hasGrh whether the first 40 bytes of the buffer hold a global route header; UD only
 * @param hasImmediate whether immediate data came with the message
 * @param statusCode the status as a number, also where {@code status} is unknown
 * @param opcodeCode the operation as a number, also where {@code opcode} is unknown
 * @param flags IBV_WC_* bits
 * @param sourceLid the sender's LID; UD on InfiniBand only
 * @param serviceLevel the service level; UD only
 * @param pathBits the low bits of the destination LID; UD only
 * @param pkeyIndex the index of the partition key; UD of special kinds only
 * @param invalidatedKey the key of this side's memory that the message invalidated; 0 unless {@link #hasInvalidatedKey()}
 */
public record WorkCompletion(
        long wrId,
        Status status,
        Opcode opcode,
        int vendorError,
        int byteLength,
        int immediate,
        int qpNumber,
        int sourceQp,
        boolean hasGrh,
        boolean hasImmediate,
        int statusCode,
        int opcodeCode,
        int flags,
        int sourceLid,
        int serviceLevel,
        int pathBits,
        int pkeyIndex,
        int invalidatedKey) {

    /** IBV_WC_WITH_INV. */
    static final int WITH_INVALIDATE = 1 << 3;

    /** How a work request ended (enum ibv_wc_status; IBTA volume 1, section 11.6.2). */
    public enum Status {
        /** Done. */
        SUCCESS(0, null),
        /** The message is longer than the receive buffer, or than the device allows. */
        LOC_LEN_ERR(1, Cause.LOCAL_LENGTH),
        /** The request does not fit the queue pair. */
        LOC_QP_OP_ERR(2, Cause.LOCAL_QP_OPERATION),
        /** End-to-end context error; reliable datagram only. */
        LOC_EEC_OP_ERR(3, Cause.LOCAL_EEC_OPERATION),
        /** A local buffer is outside of its memory region, or the key is wrong. */
        LOC_PROT_ERR(4, Cause.LOCAL_PROTECTION),
        /** Flushed, because the queue pair is in error. */
        WR_FLUSH_ERR(5, Cause.FLUSHED),
        /** A memory window could not be bound. */
        MW_BIND_ERR(6, Cause.MEMORY_WINDOW_BIND),
        /** The responder answered with something unexpected. */
        BAD_RESP_ERR(7, Cause.BAD_RESPONSE),
        /** A local buffer was written without permission. */
        LOC_ACCESS_ERR(8, Cause.LOCAL_ACCESS),
        /** The responder found the request invalid: too long, or not supported. */
        REM_INV_REQ_ERR(9, Cause.REMOTE_INVALID_REQUEST),
        /** The responder refused access: wrong key, range or permission. */
        REM_ACCESS_ERR(10, Cause.REMOTE_ACCESS),
        /** The responder could not carry it out. */
        REM_OP_ERR(11, Cause.REMOTE_OPERATION),
        /** No answer within timeout and retries. */
        RETRY_EXC_ERR(12, Cause.RETRY_EXCEEDED),
        /** The responder had no receive posted, for all retries. */
        RNR_RETRY_EXC_ERR(13, Cause.RNR_RETRY_EXCEEDED),
        /** Reliable datagram only. */
        LOC_RDD_VIOL_ERR(14, Cause.LOCAL_RDD_VIOLATION),
        /** Reliable datagram only. */
        REM_INV_RD_REQ_ERR(15, Cause.REMOTE_INVALID_RD_REQUEST),
        /** The responder gave up. */
        REM_ABORT_ERR(16, Cause.REMOTE_ABORT),
        /** Reliable datagram only. */
        INV_EECN_ERR(17, Cause.INVALID_EEC_NUMBER),
        /** Reliable datagram only. */
        INV_EEC_STATE_ERR(18, Cause.INVALID_EEC_STATE),
        /** The device failed. */
        FATAL_ERR(19, Cause.FATAL_TRANSPORT_ERROR),
        /** No response in time. */
        RESP_TIMEOUT_ERR(20, Cause.RESPONSE_TIMEOUT),
        /** None of the others. */
        GENERAL_ERR(21, Cause.GENERAL_TRANSPORT_ERROR),
        /** Tag matching failed. */
        TM_ERR(22, Cause.TAG_MATCHING),
        /** Tag matching has to be finished in software. */
        TM_RNDV_INCOMPLETE(23, Cause.TAG_MATCHING_INCOMPLETE),
        /** A value that this library does not know; {@link WorkCompletion#statusCode()} has it. */
        UNKNOWN(-1, Cause.COMPLETION_ERROR);

        private static final Status[] ALL = values();
        private final int code;
        private final @Nullable Cause cause;

        Status(int code, @Nullable Cause cause) {
            this.code = code;
            this.cause = cause;
        }

        /** Returns the number of the status; -1 if unknown. */
        public int code() {
            return code;
        }

        /** Returns the C name, for example {@code IBV_WC_REM_ACCESS_ERR}. */
        public String ibvName() {
            return "IBV_WC_" + name();
        }

        /**
         * Returns what went wrong.
         *
         * @throws IllegalStateException for {@link #SUCCESS}
         */
        public Cause cause() {
            if (cause == null) {
                throw new IllegalStateException("A success has no cause");
            }
            return cause;
        }

        static Status of(int code) {
            return code >= 0 && code < UNKNOWN.ordinal() ? ALL[code] : UNKNOWN;
        }
    }

    /** Which operation completed (enum ibv_wc_opcode). */
    public enum Opcode {
        /** A send. */
        SEND(0),
        /** An RDMA WRITE. */
        RDMA_WRITE(1),
        /** An RDMA READ. */
        RDMA_READ(2),
        /** A compare and swap. */
        COMP_SWAP(3),
        /** A fetch and add. */
        FETCH_ADD(4),
        /** A memory window was bound. */
        BIND_MW(5),
        /** A key was invalidated. */
        LOCAL_INV(6),
        /** TCP segmentation offload. */
        TSO(7),
        /** A flush. */
        FLUSH(8),
        /** An atomic write. */
        ATOMIC_WRITE(9),
        /** A message was received. */
        RECV(128),
        /** An RDMA WRITE with immediate data arrived and consumed a receive. */
        RECV_RDMA_WITH_IMM(129),
        /** A value that this library does not know; {@link WorkCompletion#opcodeCode()} has it. */
        UNKNOWN(-1);

        private static final Opcode[] ALL = values();
        private final int code;

        Opcode(int code) {
            this.code = code;
        }

        /** Returns the number of the operation; -1 if unknown. */
        public int code() {
            return code;
        }

        /** Tells whether a receive was consumed. */
        public boolean isReceive() {
            return code >= 128;
        }

        static Opcode of(int code) {
            for (Opcode opcode : ALL) {
                if (opcode.code == code) {
                    return opcode;
                }
            }
            return UNKNOWN;
        }
    }

    /** Tells whether the message invalidated a key of this side's memory (IBV_WC_WITH_INV). */
    public boolean hasInvalidatedKey() {
        return (flags & WITH_INVALIDATE) != 0;
    }

    /** Tells whether the request succeeded. */
    public boolean isSuccess() {
        return statusCode == 0;
    }

    /**
     * Returns this completion if it is a success.
     *
     * @return this
     * @throws WorkCompletionException if it is not
     */
    public WorkCompletion requireSuccess() {
        if (!isSuccess()) {
            throw exception();
        }
        return this;
    }

    /** Returns the exception that describes this completion, for a failed one. */
    public WorkCompletionException exception() {
        return new WorkCompletionException(status, statusCode, vendorError, opcode, wrId, qpNumber);
    }
}
