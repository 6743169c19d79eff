package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.command.CommonOptions;
import io.rdmatest.scenarios.command.ReportingCommand;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** Reads the options of a program from one line, as they stand on its command line. */
public final class OptionLine {

    /** The options that a line can make, each with its defaults. */
    private static final Map<Class<?>, Supplier<? extends Options<?>>> DEFAULTS = Map.of(
            RpingOptions.class,
            RpingOptions::defaults,
            UcmatoseOptions.class,
            UcmatoseOptions::defaults,
            UdaddyOptions.class,
            UdaddyOptions::defaults,
            MckeyOptions.class,
            MckeyOptions::defaults,
            RstreamOptions.class,
            RstreamOptions::defaults,
            RmaStreamOptions.class,
            RmaStreamOptions::defaults,
            PingPongRoles.Plan.class,
            PingPongRoles.Plan::defaults);

    private OptionLine() {}

    /** Tells whether there is a command line for a type of options. */
    public static boolean reads(Class<?> type) {
        return DEFAULTS.containsKey(type);
    }

    /**
     * Reads a line.
     *
     * @param type the options of a role, such as {@code RpingOptions.class}
     * @param line options separated by spaces, such as {@code -C 100 -S 64 -V}; those that every program takes, such as
     *     {@code --timeout 5s}, may be among them
     * @return the options
     * @throws IllegalArgumentException if no command has such options, or the line has an option or a value that the program
     *     does not take; the message names it
     */
    public static <O> O parse(Class<O> type, String line) {
        Supplier<? extends Options<?>> defaults = DEFAULTS.get(type);
        if (defaults == null) {
            throw new IllegalArgumentException("No command line makes a %s; known are %s"
                    .formatted(
                            type.getSimpleName(),
                            DEFAULTS.keySet().stream()
                                    .map(Class::getSimpleName)
                                    .sorted()
                                    .toList()));
        }
        return type.cast(parse(defaults.get(), line));
    }

    /** Reads a line into options that have their defaults. */
    public static <O extends Options<O>> O parse(Options<O> options, String line) {
        CommonOptions common = new CommonOptions();
        CommandSpec spec = CommandSpec.create()
                .name(options.getClass().getSimpleName())
                .addMixin("arguments", CommandSpec.forAnnotatedObject(options))
                .addMixin("common", CommandSpec.forAnnotatedObject(common));
        String[] words = line.isBlank() ? new String[0] : line.strip().split("\\s+");
        try {
            ReportingCommand.getopt(new CommandLine(spec)).parseArgs(words);
            return common.applyTo(options);
        } catch (CommandLine.ParameterException | IllegalArgumentException e) {
            throw new IllegalArgumentException("\"" + line + "\": " + e.getMessage(), e);
        }
    }
}
