package io.rdmatest.scenarios.engine;

import io.rdmatest.cm.PortSpace;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a port space as {@code -p} of udaddy(1) and mckey(1) has it: by number, or by name. */
public final class DatagramPortSpace implements ITypeConverter<PortSpace> {

    /** Creates the converter. */
    public DatagramPortSpace() {}

    /**
     * Reads it.
     *
     * @param text {@code 0x0111} or 273 for UDP, {@code 0x0002} or 2 for IPOIB, or one of these names
     * @throws TypeConversionException for anything else
     */
    @Override
    public PortSpace convert(String text) {
        String wanted = text.strip().toLowerCase(Locale.ROOT);
        for (PortSpace space : new PortSpace[] {PortSpace.UDP, PortSpace.IPOIB}) {
            if (wanted.equals(space.name().toLowerCase(Locale.ROOT)) || number(wanted) == space.value()) {
                return space;
            }
        }
        throw new TypeConversionException("'" + text
                + "' is not a datagram port space: use 0x0111 (UDP) or 0x0002 (IPoIB); it is not a port number");
    }

    private static int number(String text) {
        try {
            return text.startsWith("0x") ? Integer.parseInt(text.substring(2), 16) : Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
