package io.rdmatest.verbs;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

/** A global identifier: 128 bits in the form of an IPv6 address (IBTA volume 1, section 4.1.1). */
public final class Gid {

    /** The length of a GID in bytes. */
    public static final int LENGTH = 16;

    private final byte[] bytes;

    private Gid(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * Makes a GID of its bytes.
     *
     * @param bytes 16 bytes in network order
     * @return the GID
     * @throws IllegalArgumentException for any other length
     */
    public static Gid of(byte[] bytes) {
        if (bytes.length != LENGTH) {
            throw new IllegalArgumentException("a GID has 16 bytes, not " + bytes.length);
        }
        return new Gid(bytes.clone());
    }

    /**
     * Makes the GID that RoCE gives to an address: IPv4 in its mapped form {@code ::ffff:a.b.c.d}.
     *
     * @param address an IPv4 or IPv6 address
     * @return the GID
     */
    public static Gid of(InetAddress address) {
        byte[] raw = address.getAddress();
        if (raw.length == LENGTH) {
            return new Gid(raw);
        }
        byte[] mapped = new byte[LENGTH];
        mapped[10] = (byte) 0xff;
        mapped[11] = (byte) 0xff;
        System.arraycopy(raw, 0, mapped, 12, 4);
        return new Gid(mapped);
    }

    /**
     * Makes the link-local GID that the kernel gives to each RoCE port. It contains the modified EUI-64 of the network
     * interface's hardware address (RFC 4291, appendix A).
     *
     * @param hardwareAddress the hardware address of the network interface; 6 bytes for Ethernet
     * @return the GID; all zeros if the hardware address has another length
     */
    public static Gid ofHardware(byte[] hardwareAddress) {
        byte[] bytes = new byte[LENGTH];
        if (hardwareAddress.length == 6) {
            bytes[0] = (byte) 0xfe;
            bytes[1] = (byte) 0x80;
            System.arraycopy(hardwareAddress, 0, bytes, 8, 3);
            bytes[8] ^= 2;
            bytes[11] = (byte) 0xff;
            bytes[12] = (byte) 0xfe;
            System.arraycopy(hardwareAddress, 3, bytes, 13, 3);
        }
        return new Gid(bytes);
    }

    /**
     * Reads a GID from its text.
     *
     * @param text in the notation of IPv6 addresses, for example {@code fe80::1} or {@code ::ffff:192.0.2.1}
     * @return the GID
     * @throws IllegalArgumentException if the text is not such an address
     */
    public static Gid parse(String text) {
        if (text.indexOf(':') < 0 || text.indexOf('%') >= 0) {
            throw new IllegalArgumentException("not a GID: '" + text + "' (expected the notation of an IPv6 address)");
        }
        try {
            return of(InetAddress.ofLiteral(text));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "not a GID: '" + text + "' (expected the notation of an IPv6 address)", e);
        }
    }

    /** Returns the 16 bytes in network order; a copy. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** Tells whether the GID stands for an IPv4 address. */
    public boolean isIpv4Mapped() {
        for (int i = 0; i < 10; i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
        return bytes[10] == (byte) 0xff && bytes[11] == (byte) 0xff;
    }

    /** Tells whether the GID is link-local ({@code fe80::/10}), which needs a scope to be used as an address. */
    public boolean isLinkLocal() {
        return bytes[0] == (byte) 0xfe && (bytes[1] & 0xc0) == 0x80;
    }

    /** Tells whether all bytes are zero, as in an unused table entry. */
    public boolean isZero() {
        return Arrays.equals(bytes, new byte[LENGTH]);
    }

    /**
     * Tells whether this is the GID that iWARP makes from a hardware address: the bytes of the address, then zeros. Such a GID is
     * not an IP address.
     *
     * @param hardwareAddress the hardware address of a network interface, 6 bytes for Ethernet
     * @return whether this is its GID
     */
    boolean isMadeOf(byte[] hardwareAddress) {
        return Arrays.equals(bytes, Arrays.copyOf(hardwareAddress, LENGTH));
    }

    /** Tells whether the GID names a multicast group. */
    public boolean isMulticast() {
        return bytes[0] == (byte) 0xff;
    }

    /** Returns the IP address that the GID stands for: an IPv4 address if it is mapped, else IPv6. */
    public InetAddress toInetAddress() {
        try {
            return isIpv4Mapped()
                    ? InetAddress.getByAddress(Arrays.copyOfRange(bytes, 12, LENGTH))
                    : Inet6Address.getByAddress(null, bytes.clone(), -1);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of 4 or 16 bytes was refused", e);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Gid gid && Arrays.equals(bytes, gid.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    /** Returns the canonical text of RFC 5952, with a mapped IPv4 address in dotted form. */
    @Override
    public String toString() {
        if (isIpv4Mapped()) {
            return "::ffff:" + (bytes[12] & 0xff) + "." + (bytes[13] & 0xff) + "." + (bytes[14] & 0xff) + "."
                    + (bytes[15] & 0xff);
        }
        int[] groups = new int[8];
        for (int i = 0; i < 8; i++) {
            groups[i] = (bytes[2 * i] & 0xff) << 8 | bytes[2 * i + 1] & 0xff;
        }
        int longest = -1;
        int longestLength = 1;
        for (int i = 0; i < 8; i++) {
            int end = i;
            while (end < 8 && groups[end] == 0) {
                end++;
            }
            if (end - i > longestLength) {
                longest = i;
                longestLength = end - i;
            }
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8; i++) {
            if (i == longest) {
                text.append("::");
                i += longestLength - 1;
            } else {
                if (!text.isEmpty() && text.charAt(text.length() - 1) != ':') {
                    text.append(':');
                }
                text.append(Integer.toHexString(groups[i]));
            }
        }
        return text.toString();
    }
}
