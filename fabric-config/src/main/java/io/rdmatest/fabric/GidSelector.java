package io.rdmatest.fabric;

import java.util.Locale;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Selects the entry of a port's GID table that a node uses: by index, or the first usable one of a type and an address family.
 *
 * @param index the index, 0 … 255, or empty; with an index, type and family are null
 * @param type the type wanted; null for any, where RoCEv2 is preferred to RoCEv1
 * @param family the address family wanted; null for any, where IPv4 is preferred to IPv6
 */
public record GidSelector(
        OptionalInt index, @Nullable Type type, @Nullable Family family) {

    /** Takes the first usable entry: RoCEv2 before RoCEv1, IPv4 before routable IPv6 before link-local IPv6. */
    public static final GidSelector AUTO = new GidSelector(OptionalInt.empty(), null, null);

    /** The type of a GID, as sysfs and the fabric files name it. */
    public enum Type {
        /** InfiniBand. */
        IB("IB"),
        /** RoCE version 1: an Ethernet frame of its own type, not routable. */
        ROCE_V1("RoCEv1"),
        /** RoCE version 2: UDP over IPv4 or IPv6. */
        ROCE_V2("RoCEv2");

        private final String text;

        Type(String text) {
            this.text = text;
        }

        /** Returns the name that the fabric files use. */
        @Override
        public String toString() {
            return text;
        }
    }

    /** The address family of a RoCE GID. */
    public enum Family {
        /** An IPv4 address, mapped: {@code ::ffff:a.b.c.d}. */
        IPV4,
        /** An IPv6 address, routable or link-local. */
        IPV6;

        /** Returns the name that the fabric files use. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Checks that an index has neither type nor family beside it. */
    public GidSelector {
        Objects.requireNonNull(index, "index");
        if (index.isPresent() && (type != null || family != null)) {
            throw new IllegalArgumentException("a GID index leaves nothing to select by type or family");
        }
        if (index.isPresent() && (index.getAsInt() < 0 || index.getAsInt() > 255)) {
            throw new IllegalArgumentException("GID index " + index.getAsInt() + " is not in 0 … 255");
        }
    }

    /**
     * Selects the entry at an index.
     *
     * @param index 0 … 255
     * @return the selector
     */
    public static GidSelector ofIndex(int index) {
        return new GidSelector(OptionalInt.of(index), null, null);
    }

    /** Returns the selection as the fabric files write it, or {@code auto}. */
    @Override
    public String toString() {
        if (index.isPresent()) {
            return "{index: " + index.getAsInt() + "}";
        }
        if (type == null && family == null) {
            return "auto";
        }
        return "{" + (type == null ? "" : "type: " + type) + (type == null || family == null ? "" : ", ")
                + (family == null ? "" : "family: " + family) + "}";
    }
}
