package io.rdmatest.scenarios.command;

import io.rdmatest.fabric.DeviceName;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.scenarios.options.DurationText;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Fault;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options that every program takes besides its own. They have long names only: the letters belong to the programs. */
public final class CommonOptions {

    /** How long any one wait takes unless {@code --timeout} says otherwise. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

    @ArgGroup(validate = false, heading = "%nIn every program:%n")
    private final Group given = new Group();

    /** Creates the options with nothing given; picocli fills them in. */
    public CommonOptions() {}

    private static final class Group {

        @Option(
                names = "--timeout",
                paramLabel = "<duration>",
                converter = DurationText.class,
                description = "How long any one wait may take, for example 500ms, 10s, 2min; no unit means seconds"
                        + " (default: 10s; a server waits for its first client without limit). Each address or route"
                        + " resolution times out after 2s.")
        private @Nullable Duration timeout;

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

    /** Returns how long any one wait may take. */
    public Duration timeout() {
        return givenTimeout().orElse(DEFAULT_TIMEOUT);
    }

    /** Returns what {@code --timeout} said; a server waits for its first client without limit when this is empty. */
    public Optional<Duration> givenTimeout() {
        return Optional.ofNullable(given.timeout);
    }

    /** Returns what {@code --device} said, {@code name} or {@code name/port}. */
    public Optional<String> device() {
        return Optional.ofNullable(given.device);
    }

    /** Returns what {@code --gid-index} said. */
    public OptionalInt gidIndex() {
        return given.gidIndex == null ? OptionalInt.empty() : OptionalInt.of(given.gidIndex);
    }

    /** Tells whether a device, or a GID of one, was asked for. */
    public boolean selectsDevice() {
        return device().isPresent() || gidIndex().isPresent();
    }

    /** Returns what is to go wrong on purpose. */
    public Fault fault() {
        return given.fault == null ? Fault.NONE : given.fault;
    }

    /** Tells whether the result is to be one JSON object on standard output. */
    public boolean json() {
        return given.json;
    }

    /**
     * Returns the options of a program with what was given here.
     *
     * @throws IllegalArgumentException if the result is wrong, as for {@link Options#check}
     */
    public <O extends Options<O>> O applyTo(Options<O> options) {
        return options.withCommon(timeout(), givenTimeout().orElse(null), fault());
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
