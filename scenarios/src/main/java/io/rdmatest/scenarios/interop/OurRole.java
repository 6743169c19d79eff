package io.rdmatest.scenarios.interop;

/** Which side of a cell is ours; the C program is the other one. */
public enum OurRole {

    /** Our client connects to the C server. */
    CLIENT("our client, C server"),

    /** The C client connects to our server. */
    SERVER("our server, C client"),

    /** Our multicast sender sends to the C receiver. */
    SENDER("our sender, C receiver"),

    /** Our multicast receiver receives what the C sender sends. */
    RECEIVER("our receiver, C sender");

    private final String sides;

    OurRole(String sides) {
        this.sides = sides;
    }

    /** Returns both sides in words, for example {@code our client, C server}. */
    public String sides() {
        return sides;
    }
}
