package io.rdmatest;

import java.util.Locale;

/** How a command ended, as the status of its process. */
public enum ExitStatus {

    /** Everything was done, and everything that can be verified was. */
    VERIFIED(0, "done, and everything that can be verified was"),

    /** Wrong or lost data, a failed work request, packets that break the rules, or a culprit among measured pairs. */
    FABRIC_FAILED(
            1,
            "the fabric failed: wrong or lost data, a failed work request, packets that break the rules, or a culprit"
                    + " among measured pairs"),

    /** An option that does not exist, or a value out of its range. */
    USAGE(2, "wrong usage"),

    /** No device, library, lockable memory, permission or room for the output. */
    HOST_NOT_READY(
            3, "this host cannot run it: no device, library, lockable memory, permission, or room for the output"),

    /** There is no listener, no client, or no answer before data flowed. */
    PEER_ABSENT(4, "peer absent: no listener, no client, or no answer before data flowed"),

    /** The device, the kernel or the fabric cannot do this. */
    UNSUPPORTED(5, "the device, the kernel or the fabric does not support it"),

    /** The peer listens and rejects the connection. */
    REJECTED(6, "the peer listens, and rejected the connection"),

    /** The address has no route over an RDMA device. */
    NO_ROUTE(7, "no route to the address over an RDMA device, or over the one under test"),

    /** The peer disconnected or stopped acknowledging in the middle of the transfer. */
    PEER_LOST(8, "peer lost: it disconnected or stopped acknowledging in mid-transfer"),

    /** The peer or the path's MTU refuses a message of this size. */
    SIZE_REFUSED(9, "the peer or the MTU refuses a message of this size"),

    /** Of two qualifications that are compared: a verdict or a measurement of the later one is worse. */
    WORSE(14, "compare: a verdict or a measurement is worse than before"),

    /** Of two qualifications that are compared: they have nothing in common that was judged. */
    NOTHING_COMPARED(15, "compare: nothing could be compared"),

    /** Of captures: one has no RoCE packet that can be judged. Of measured pairs: none was measured. */
    NOTHING_JUDGED(16, "wire, culprits: a capture has no packet, or the files no cell, that can be judged"),

    /** Nothing explains the failure, or the code that uses the device is wrong. The stack trace is shown. */
    DEFECT(70, "a defect of rdmatest: please report it with the stack trace that is shown"),

    /** SIGINT or SIGTERM. */
    INTERRUPTED(130, "interrupted by SIGINT or SIGTERM");

    /** Set by the scripts: the status that stands for {@link #FABRIC_FAILED} between a JVM and the script that started it. */
    private static final String FABRIC_FAILED_PROPERTY = "rdmatest.fabric-failed";

    private final int code;
    private final String meaning;

    ExitStatus(int code, String meaning) {
        this.code = code;
        this.meaning = meaning;
    }

    /**
     * Returns the status that a JVM is to end with. A JVM that does not come to {@code main} ends with 1, so the scripts take 1 for that,
     * and ask for another status where the fabric failed.
     *
     * @param status the status of the command, 0 to 255
     */
    public static int ofJvm(int status) {
        return status == FABRIC_FAILED.code ? Integer.getInteger(FABRIC_FAILED_PROPERTY, status) : status;
    }

    /** Returns the status of the process, 0 to 255. */
    public int code() {
        return code;
    }

    /** Returns what it means, for help texts. */
    public String meaning() {
        return meaning;
    }

    /** Returns the name in words, such as {@code peer absent}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
