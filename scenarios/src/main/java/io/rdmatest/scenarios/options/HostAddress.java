package io.rdmatest.scenarios.options;

import java.net.InetAddress;
import java.net.UnknownHostException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Reads an address, or looks up a host name. An empty text is an error, because Java takes it for the loopback address.
 */
public final class HostAddress implements ITypeConverter<InetAddress> {

    /** Creates the converter. */
    public HostAddress() {}

    @Override
    public InetAddress convert(String text) {
        if (text.isBlank()) {
            throw new TypeConversionException("it is empty: give a host name or an IP address");
        }
        try {
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new TypeConversionException(text + " is neither an address nor a known host name");
        }
    }
}
