package io.rdmatest.verbs;

/** The clock of the timestamps in a device's completions (enum ibv_create_cq_wc_flags; ibv_create_cq_ex(3)). */
public enum CompletionTimestamp {
    /** No timestamps. */
    NONE(0),
    /**
     * The device's own clock, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP. It counts ticks at {@link
     * ExtendedDeviceAttributes#coreClockKhz()}. Only the bits of {@link ExtendedDeviceAttributes#completionTimestampMask()} are
     * valid. {@link DeviceContext#deviceClock()} reads the same clock.
     */
    DEVICE_CLOCK(1L << 7),
    /** The wall clock, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK: nanoseconds since 1970, like CLOCK_REALTIME. */
    WALL_CLOCK(1L << 11);

    private final long flag;

    CompletionTimestamp(long flag) {
        this.flag = flag;
    }

    long flag() {
        return flag;
    }
}
