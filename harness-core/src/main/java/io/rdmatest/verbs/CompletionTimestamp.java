package io.rdmatest.verbs;

/** The clock by which a device stamps its completions (enum ibv_create_cq_wc_flags; ibv_create_cq_ex(3)). */
public enum CompletionTimestamp {
    /** None. */
    NONE(0),
    /**
     * The device's own, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP: ticks at {@link ExtendedDeviceAttributes#coreClockKhz()}, of which the bits
     * of {@link ExtendedDeviceAttributes#completionTimestampMask()} count. {@link DeviceContext#deviceClock()} reads the same clock.
     */
    DEVICE_CLOCK(1L << 7),
    /** That of the day, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK: nanoseconds since 1970 as CLOCK_REALTIME has them. */
    WALL_CLOCK(1L << 11);

    private final long flag;

    CompletionTimestamp(long flag) {
        this.flag = flag;
    }

    long flag() {
        return flag;
    }
}
