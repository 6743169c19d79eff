package io.rdmatest.verbs;

import io.rdmatest.WorkCompletionException;

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
        SUCCESS(0, "success"),
        /** The message is longer than the receive buffer, or than the device allows. */
        LOC_LEN_ERR(1, "local length error"),
        /** The request does not fit the queue pair. */
        LOC_QP_OP_ERR(2, "local QP operation error"),
        /** End-to-end context error; reliable datagram only. */
        LOC_EEC_OP_ERR(3, "local EE context operation error"),
        /** A local buffer is outside of its memory region, or the key is wrong. */
        LOC_PROT_ERR(4, "local protection error"),
        /** Flushed, because the queue pair is in error. */
        WR_FLUSH_ERR(5, "work request flushed"),
        /** A memory window could not be bound. */
        MW_BIND_ERR(6, "memory window bind error"),
        /** The responder answered with something unexpected. */
        BAD_RESP_ERR(7, "bad response"),
        /** A local buffer was written without permission. */
        LOC_ACCESS_ERR(8, "local access error"),
        /** The responder found the request invalid: too long, or not supported. */
        REM_INV_REQ_ERR(9, "remote invalid request"),
        /** The responder refused access: wrong key, range or permission. */
        REM_ACCESS_ERR(10, "remote access error"),
        /** The responder could not carry it out. */
        REM_OP_ERR(11, "remote operation error"),
        /** No answer within timeout and retries. */
        RETRY_EXC_ERR(12, "transport retries exceeded"),
        /** The responder had no receive posted, for all retries. */
        RNR_RETRY_EXC_ERR(13, "receiver-not-ready retries exceeded"),
        /** Reliable datagram only. */
        LOC_RDD_VIOL_ERR(14, "local RDD violation"),
        /** Reliable datagram only. */
        REM_INV_RD_REQ_ERR(15, "remote invalid RD request"),
        /** The responder gave up. */
        REM_ABORT_ERR(16, "remote aborted"),
        /** Reliable datagram only. */
        INV_EECN_ERR(17, "invalid EE context number"),
        /** Reliable datagram only. */
        INV_EEC_STATE_ERR(18, "invalid EE context state"),
        /** The device failed. */
        FATAL_ERR(19, "fatal error"),
        /** No response in time. */
        RESP_TIMEOUT_ERR(20, "response timeout"),
        /** None of the others. */
        GENERAL_ERR(21, "general error"),
        /** Tag matching failed. */
        TM_ERR(22, "tag matching error"),
        /** Tag matching has to be finished in software. */
        TM_RNDV_INCOMPLETE(23, "tag matching rendezvous incomplete"),
        /** A value that this library does not know; {@link WorkCompletion#statusCode()} has it. */
        UNKNOWN(-1, "unknown status");

        private static final Status[] ALL = values();
        private final int code;
        private final String explanation;

        Status(int code, String explanation) {
            this.code = code;
            this.explanation = explanation;
        }

        /** Returns the number of the status; -1 if unknown. */
        public int code() {
            return code;
        }

        /** Returns the C name, for example {@code IBV_WC_REM_ACCESS_ERR}. */
        public String ibvName() {
            return "IBV_WC_" + name();
        }

        /** Returns what it means, in a few words. */
        public String explanation() {
            return explanation;
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
        return new WorkCompletionException(
                status.ibvName(), statusCode, status.explanation(), vendorError, opcode.name(), wrId, qpNumber);
    }
}
