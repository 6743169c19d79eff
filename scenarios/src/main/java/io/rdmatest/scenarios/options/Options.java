package io.rdmatest.scenarios.options;

import io.rdmatest.fabric.DeviceName;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.scenarios.role.Fault;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;

/**
 * The options of a program, as its command line has them. A command, a role, a test and another node all read them from a line of
 * options, such as {@code -C 100 -S 64 -V}.
 *
 * <p>Each field carries picocli's annotation with its letter, long name and text, and has the default as its initial value. Only
 * picocli sets a field, before {@link #check}. Two objects are equal if they are of one class and were read from the same line.
 *
 * @param <O> the class itself
 */
public abstract class Options<O extends Options<O>> {

    /** How long any one wait takes unless {@code --timeout} says otherwise. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

    /** How long a first wait takes that has no limit; a deadline cuts it to a year. */
    public static final Duration NO_LIMIT = Duration.ofDays(36_500);

    @ArgGroup(validate = false, heading = "%nIn every program:%n")
    private final Common common = new Common();

    private List<String> line = List.of();

    /** Creates the options with their defaults. */
    protected Options() {}

    /** What every program takes besides its own options. These have long names only: the letters belong to the programs. */
    private static final class Common {

        @Option(
                names = "--timeout",
                paramLabel = "<duration>",
                converter = DurationText.class,
                description = "How long any one wait may take, for example 500ms, 10s, 2min; no unit means seconds"
                        + " (default: 10s; a server waits for its first client, and a receiver for its first message,"
                        + " without limit). Each address or route resolution times out after 2s.")
        private @Nullable Duration timeout;

        @Option(
                names = "--first-wait",
                paramLabel = "<duration>",
                converter = DurationText.class,
                hidden = true,
                description = "How long a server waits for its first client, and a receiver for its first message"
                        + " (default: --timeout if it is given, else without limit).")
        private @Nullable Duration firstWait;

        @Option(
                names = "--device",
                paramLabel = "<name[/port]>",
                converter = DeviceConverter.class,
                description = "The RDMA device, as in mlx5_0 or mlx5_0/1 (default: the first active port).")
        private @Nullable String device;

        @Option(
                names = "--gid-index",
                paramLabel = "<n>",
                converter = GidIndexConverter.class,
                description =
                        "The entry of the port's GID table, 0 to 255 (default: the first RoCE v2 entry, IPv4 before"
                                + " IPv6). './rdmatest devices' lists them.")
        private @Nullable Integer gidIndex;

        @Option(names = "--json", description = "Print one JSON object instead of text.")
        private boolean json;

        @Option(
                names = "--fault",
                paramLabel = "<fault>",
                converter = FaultConverter.class,
                description = "Inject a fault to prove that the peer detects it: flip-payload-byte flips one bit of one"
                        + " sent byte.")
        private @Nullable Fault fault;
    }

    /**
     * Reads options from a line.
     *
     * @param type the class of the options
     * @param words parts of the line, in order: a text is split at its spaces; a {@link Duration}, an {@link InetAddress}, a
     *     {@link Fault} and any other value are one word each
     * @throws IllegalArgumentException if the line has an option or a value that the program does not take; the message has the
     *     line, and names the option
     */
    public static <O extends Options<?>> O parse(Class<O> type, Object... words) {
        List<String> line = new ArrayList<>();
        addTo(line, words);
        return read(type, line);
    }

    /**
     * Returns these options with more of them. The last one wins of those that are given twice.
     *
     * @param words more of the line, as for {@link #parse}
     * @throws IllegalArgumentException if the longer line is wrong, as for {@link #parse}
     */
    @SuppressWarnings("unchecked")
    public final O and(Object... words) {
        List<String> longer = new ArrayList<>(line);
        addTo(longer, words);
        return read((Class<O>) getClass(), longer);
    }

    private static void addTo(List<String> line, Object... words) {
        for (Object word : words) {
            switch (word) {
                case Duration duration -> line.add(DurationText.of(duration));
                case InetAddress address -> line.add(address.getHostAddress());
                case Fault fault -> line.add(FaultConverter.name(fault));
                case String text ->
                    Stream.of(text.split("\\s+"))
                            .filter(part -> !part.isEmpty())
                            .forEach(line::add);
                default -> line.add(word.toString());
            }
        }
    }

    /**
     * Reads options from a line whose words are known, such as one of another node.
     *
     * @throws IllegalArgumentException if the line is wrong, as for {@link #parse}
     */
    public static <O extends Options<?>> O read(Class<O> type, List<String> line) {
        try {
            O options = CommandLine.defaultFactory().create(type);
            CommandLine.ParseResult ignored = getopt(new CommandLine(options)).parseArgs(line.toArray(String[]::new));
            options.complete(line);
            return options;
        } catch (ParameterException | IllegalArgumentException e) {
            throw new IllegalArgumentException("\"%s\": %s".formatted(String.join(" ", line), e.getMessage()), e);
        } catch (Exception e) {
            throw new IllegalStateException(type + " cannot be created", e);
        }
    }

    /** Sets the rules of getopt(3) as far as picocli has them: clustered letters, attached values, the last one wins. */
    public static CommandLine getopt(CommandLine line) {
        return line.setOverwrittenOptionsAllowed(true)
                .setPosixClusteredShortOptionsAllowed(true)
                .setExpandAtFiles(false)
                .setCaseInsensitiveEnumValuesAllowed(true);
    }

    /**
     * Ends the reading of these options. A command calls this once picocli has set the fields.
     *
     * @param words the line that they were read from
     * @throws IllegalArgumentException if a value is out of range, or options exclude each other
     */
    public final void complete(List<String> words) {
        line = List.copyOf(words);
        check();
    }

    /**
     * Checks ranges and options that exclude each other.
     *
     * @throws IllegalArgumentException if something is wrong; the message is one sentence that names the value and what is allowed
     */
    protected abstract void check();

    /** Returns the words of the line that these options were read from; another node reads the same options from them. */
    public final List<String> line() {
        return line;
    }

    /** Returns how long any one wait may take (--timeout), 1 us to 24 h. */
    public final Duration timeout() {
        return common.timeout == null ? DEFAULT_TIMEOUT : common.timeout;
    }

    /**
     * Returns how long a server waits for its first client, or a receiver for its first message, 1 us to 24 h: {@code --timeout} if
     * it was given, else {@link #NO_LIMIT}.
     */
    public final Duration firstWait() {
        Duration given = common.firstWait == null ? common.timeout : common.firstWait;
        return given == null ? NO_LIMIT : given;
    }

    /** Returns what {@code --device} said, {@code name} or {@code name/port}. */
    public final Optional<String> device() {
        return Optional.ofNullable(common.device);
    }

    /** Returns what {@code --gid-index} said. */
    public final OptionalInt gidIndex() {
        return common.gidIndex == null ? OptionalInt.empty() : OptionalInt.of(common.gidIndex);
    }

    /** Tells whether a device, or a GID of one, was asked for. */
    public final boolean selectsDevice() {
        return device().isPresent() || gidIndex().isPresent();
    }

    /** Returns the fault that this side injects (--fault). */
    public final Fault fault() {
        return common.fault == null ? Fault.NONE : common.fault;
    }

    /** Tells whether the result is to be one JSON object on standard output (--json). */
    public final boolean json() {
        return common.json;
    }

    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof Options<?> options && options.getClass() == getClass() && options.line.equals(line);
    }

    @Override
    public final int hashCode() {
        return line.hashCode();
    }

    /** Returns the line, such as {@code RpingOptions[-C 10 -V]}. */
    @Override
    public final String toString() {
        return getClass().getSimpleName() + "[" + String.join(" ", line) + "]";
    }

    /** Refuses what can't be a device, before a machine is booted to look for it. */
    static final class DeviceConverter implements ITypeConverter<String> {

        @Override
        public String convert(String text) {
            try {
                DeviceName ignored = DeviceName.parse(text);
                return text;
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }

    /** Refuses what can't be an index of a port's GID table. */
    static final class GidIndexConverter implements ITypeConverter<Integer> {

        @Override
        public Integer convert(String text) {
            try {
                return GidSelector.ofIndex(Integer.parseInt(text)).index().getAsInt();
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(
                        "'" + text + "' is not an index of a GID table: allowed are 0 to 255");
            }
        }
    }

    /** Reads a fault by its name in lower case with hyphens. */
    static final class FaultConverter implements ITypeConverter<Fault> {

        @Override
        public Fault convert(String text) {
            for (Fault fault : Fault.values()) {
                if (name(fault).equals(text)) {
                    return fault;
                }
            }
            throw new TypeConversionException("'" + text + "' is not a fault: allowed are none and flip-payload-byte");
        }

        private static String name(Fault fault) {
            return fault.name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }
}
