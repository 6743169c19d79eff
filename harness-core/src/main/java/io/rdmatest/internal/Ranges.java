package io.rdmatest.internal;

/** Checks of arguments. */
public final class Ranges {

    private Ranges() {}

    /**
     * Requires that a value is in its range.
     *
     * @param name its name, for the message
     * @param value the value
     * @param max the largest value; the smallest one is 0
     * @return the value
     * @throws IllegalArgumentException if it is out of its range
     */
    public static int require(String name, int value, int max) {
        if (value < 0 || value > max) {
            throw new IllegalArgumentException(name + " is 0 to " + max + ", not " + value);
        }
        return value;
    }

    /**
     * Requires that a number is that of a port.
     *
     * @param port the number
     * @throws IllegalArgumentException if it is not 1 to 255
     */
    public static void requirePort(int port) {
        if (port < 1 || port > 255) {
            throw new IllegalArgumentException("a port is 1 to 255, not " + port);
        }
    }
}
