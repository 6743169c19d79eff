package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.engine.Options;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** Reads the options of a program from one line, as they stand on its command line. */
public final class OptionLine {

    /** What reads which options: they themselves, or their {@link Arguments}. */
    private static final Map<Class<?>, Supplier<?>> READERS = Map.of(
            RpingOptions.class,
            RpingOptions::defaults,
            UcmatoseOptions.class,
            UcmatoseOptions::defaults,
            UdaddyOptions.class,
            UdaddyOptions::defaults,
            MckeyOptions.class,
            MckeyArguments::new,
            RstreamOptions.class,
            RstreamArguments::new,
            RmaStreamOptions.class,
            StreamArguments::new);

    private OptionLine() {}

    /** Tells whether there is a command line for a type of options. */
    public static boolean reads(Class<?> type) {
        return READERS.containsKey(type);
    }

    /**
     * Reads a line.
     *
     * @param type the options record of a role, such as {@code RpingOptions.class}
     * @param line options separated by spaces, such as {@code -C 100 -S 64 -V}; those that every program takes, such as
     *     {@code --timeout 5s}, may be among them
     * @return the options
     * @throws IllegalArgumentException if no command has such options, or the line has an option or a value that the program
     *     does not take; the message names it
     */
    public static <O> O parse(Class<O> type, String line) {
        return read(
                Optional.ofNullable(READERS.get(type))
                        .orElseThrow(() -> new IllegalArgumentException("No command line makes a "
                                + type.getSimpleName() + "; known are "
                                + READERS.keySet().stream()
                                        .map(Class::getSimpleName)
                                        .sorted()
                                        .toList()))
                        .get(),
                type,
                line);
    }

    static <O> O parse(Arguments<O> arguments, Class<O> type, String line) {
        return read(arguments, type, line);
    }

    private static <O> O read(Object reader, Class<O> type, String line) {
        CommonOptions common = new CommonOptions();
        CommandSpec spec = CommandSpec.create()
                .name(type.getSimpleName())
                .addMixin("arguments", CommandSpec.forAnnotatedObject(reader))
                .addMixin("common", CommandSpec.forAnnotatedObject(common));
        String[] words = line.isBlank() ? new String[0] : line.strip().split("\\s+");
        try {
            Rdmatest.configure(new CommandLine(spec)).parseArgs(words);
            return type.cast(
                    reader instanceof Arguments<?> arguments
                            ? arguments.toOptions(common)
                            : common.applyTo((Options<?>) reader));
        } catch (CommandLine.ParameterException | IllegalArgumentException e) {
            throw new IllegalArgumentException("\"" + line + "\": " + e.getMessage(), e);
        }
    }
}
