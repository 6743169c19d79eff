package io.rdmatest.scenarios.options;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a whole number as strtoul(3) with base 0 does: decimal, or hexadecimal with 0x, or octal with 0. */
public final class WholeNumber implements ITypeConverter<Integer> {

    /** Creates the converter. */
    public WholeNumber() {}

    @Override
    public Integer convert(String text) {
        try {
            return Integer.decode(text);
        } catch (NumberFormatException e) {
            throw new TypeConversionException("'" + text + "' is not a whole number");
        }
    }
}
