package io.rdmatest.verbs;

/** The path MTU: the largest payload of one packet (enum ibv_mtu; IBTA volume 1, section 7.7.8). */
public enum Mtu {
    /** 256 bytes. */
    MTU_256(1),
    /** 512 bytes. */
    MTU_512(2),
    /** 1024 bytes. */
    MTU_1024(3),
    /** 2048 bytes. */
    MTU_2048(4),
    /** 4096 bytes. */
    MTU_4096(5),
    /** A value that this library does not know. */
    UNKNOWN(0);

    private final int code;

    Mtu(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    /** Returns the size in bytes; 0 if unknown. */
    public int bytes() {
        return this == UNKNOWN ? 0 : 128 << code;
    }

    /**
     * Finds the MTU of a size.
     *
     * @param bytes 256, 512, 1024, 2048 or 4096
     * @return the MTU
     * @throws IllegalArgumentException for any other size
     */
    public static Mtu ofBytes(int bytes) {
        for (Mtu mtu : values()) {
            if (mtu != UNKNOWN && mtu.bytes() == bytes) {
                return mtu;
            }
        }
        throw new IllegalArgumentException("an MTU is 256, 512, 1024, 2048 or 4096 bytes, not " + bytes);
    }

    /**
     * Finds the MTU of a code.
     *
     * @param code enum ibv_mtu: 1 for 256 bytes to 5 for 4096
     * @return the MTU; {@link #UNKNOWN} for any other code
     */
    public static Mtu of(int code) {
        return code >= 1 && code <= 5 ? values()[code - 1] : UNKNOWN;
    }
}
