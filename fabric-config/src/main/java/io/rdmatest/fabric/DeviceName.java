package io.rdmatest.fabric;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A device in the form {@code name} or {@code name/port}.
 *
 * @param name the device's name, such as {@code mlx5_0}, or {@code auto}
 * @param port its port, 1 … 255; 0 if none is given
 */
public record DeviceName(String name, int port) {

    private static final Pattern FORM = Pattern.compile("([^/\\s]+)(?:/(\\d{1,3}))?");

    /**
     * Reads a name.
     *
     * @param text {@code name} or {@code name/port}
     * @return the name
     * @throws IllegalArgumentException if it has another form; the message begins with the text
     */
    public static DeviceName parse(String text) {
        Matcher matcher = FORM.matcher(text);
        String port = matcher.matches() ? matcher.group(2) : "0";
        if (port != null && (Integer.parseInt(port) < 1 || Integer.parseInt(port) > 255)) {
            throw new IllegalArgumentException(
                    text
                            + " is not a device: expected a name such as rxe0, or name/port such as rxe0/1 with a port in 1 … 255");
        }
        return new DeviceName(matcher.group(1), port == null ? 0 : Integer.parseInt(port));
    }
}
