package io.rdmatest.scenarios.node;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.BeanDeserializerModifier;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import io.rdmatest.peer.LineKind;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.pairs.PairRoles;
import io.rdmatest.scenarios.pairs.Unfinished;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.stream.RmaStreamRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import io.rdmatest.verbs.Gid;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * The registry of roles that run on other nodes, and the encoding of their parameters and results.
 *
 * <p>Received data never chooses a class: names are looked up here, and records are read as the registered types.
 */
final class RoleTypes {

    /**
     * A registered role.
     *
     * @param name the name on the channel
     * @param role its class
     * @param parameters the class that is sent over the channel: the role itself, or a part
     * @param result the class of the results
     * @param take returns the parameters of a role
     * @param make makes a role from parameters; the consumer takes its lines for people
     */
    record Type<T extends Role<R>, P, R>(
            String name,
            Class<T> role,
            Class<P> parameters,
            Class<R> result,
            Function<T, P> take,
            BiFunction<P, BiConsumer<LineKind, String>, T> make) {

        JsonNode write(Role<?> instance) {
            return MAPPER.valueToTree(take.apply(role.cast(instance)));
        }

        T read(JsonNode written, BiConsumer<LineKind, String> lines) {
            return make.apply(RoleTypes.read(name, written, parameters), lines);
        }

        JsonNode writeResult(Object value) {
            return MAPPER.valueToTree(result.cast(value));
        }

        /** Runs a role and writes its results. */
        JsonNode run(JsonNode written, BiConsumer<LineKind, String> lines, RoleContext context) {
            return writeResult(read(written, lines).run(context));
        }

        R readResult(JsonNode written) {
            return RoleTypes.read("result of " + name, written, result);
        }
    }

    private static final ObjectMapper MAPPER = mapper();

    private static final Map<String, Type<?, ?, ?>> BY_NAME = new LinkedHashMap<>();
    private static final Map<Class<?>, Type<?, ?, ?>> BY_CLASS = new LinkedHashMap<>();

    static {
        add("ping-pong-server", PingPongRoles.Server.class, PingPongRoles.Result.class);
        add("ping-pong-client", PingPongRoles.Client.class, PingPongRoles.Result.class);
        add("pair-server", PairRoles.Server.class, PairRoles.Result.class);
        add("pair-client", PairRoles.Client.class, PairRoles.Result.class);
        add("pair-unfinished", Unfinished.Read.class, Unfinished.class);
        add(new Type<>(
                "rping-server",
                RpingRoles.Server.class,
                RpingOptions.class,
                RpingRoles.ServerResult.class,
                RpingRoles.Server::options,
                (options, lines) -> new RpingRoles.Server(
                        options,
                        line -> lines.accept(LineKind.PRINTED, line),
                        line -> lines.accept(LineKind.TRACED, line))));
        add(new Type<>(
                "rping-client",
                RpingRoles.Client.class,
                RpingOptions.class,
                RpingRoles.ClientResult.class,
                RpingRoles.Client::options,
                (options, lines) -> new RpingRoles.Client(
                        options,
                        line -> lines.accept(LineKind.PRINTED, line),
                        line -> lines.accept(LineKind.TRACED, line))));
        add("ucmatose-server", UcmatoseRoles.Server.class, UcmatoseRoles.Result.class);
        add("ucmatose-client", UcmatoseRoles.Client.class, UcmatoseRoles.Result.class);
        add("echoing-server", UcmatoseRoles.EchoingServer.class, byte[].class);
        add("asking-client", UcmatoseRoles.AskingClient.class, byte[].class);
        add("rejecting-server", UcmatoseRoles.RejectingServer.class, byte[].class);
        add("refused-client", UcmatoseRoles.RefusedClient.class, UcmatoseRoles.Refusal.class);
        add("silent-server", UcmatoseRoles.SilentServer.class, Boolean.class);
        add("udaddy-server", UdaddyRoles.Server.class, UdaddyRoles.Result.class);
        add("udaddy-client", UdaddyRoles.Client.class, UdaddyRoles.Result.class);
        add("mckey-sender", MulticastRoles.Sender.class, MulticastRoles.Sent.class);
        add("mckey-receiver", MulticastRoles.Receiver.class, MulticastRoles.Received.class);
        add("multicast-probe-sender", MulticastRoles.ProbeSender.class, Long.class);
        add("multicast-probe-receiver", MulticastRoles.ProbeReceiver.class, Boolean.class);
        add("rstream-server", StreamRoles.Server.class, StreamRoles.Result.class);
        add("rstream-client", StreamRoles.Client.class, StreamRoles.Result.class);
        add("rma-stream-server", RmaStreamRoles.Server.class, RmaStreamRoles.Result.class);
        add("rma-stream-client", RmaStreamRoles.Client.class, RmaStreamRoles.Result.class);
        add("look", NodeFacts.Look.class, NodeFacts.class);
        add("counters", CounterValues.Read.class, CounterValues.class);
    }

    private RoleTypes() {}

    private static <T extends Role<R>, R> void add(String name, Class<T> role, Class<R> result) {
        add(new Type<>(name, role, role, result, Function.identity(), (instance, lines) -> instance));
    }

    private static void add(Type<?, ?, ?> type) {
        if (BY_NAME.put(type.name(), type) != null || BY_CLASS.put(type.role(), type) != null) {
            throw new IllegalStateException(type.name() + " is registered twice");
        }
    }

    static Collection<Type<?, ?, ?>> all() {
        return BY_NAME.values();
    }

    static Type<?, ?, ?> named(String name) {
        Type<?, ?, ?> type = BY_NAME.get(name);
        if (type == null) {
            throw new IllegalArgumentException("No role is named '" + name + "'; there are " + BY_NAME.keySet());
        }
        return type;
    }

    /** Finds the type of a role. The map keeps each type under the class of its own roles. */
    @SuppressWarnings("unchecked")
    static <R> Type<? extends Role<R>, ?, R> of(Role<R> role) {
        Type<?, ?, ?> type = BY_CLASS.get(role.getClass());
        if (type == null) {
            throw new IllegalArgumentException(
                    role.getClass().getName() + " is not registered as a role that runs on other nodes");
        }
        return (Type<? extends Role<R>, ?, R>) type;
    }

    static JsonNode write(Object value) {
        return MAPPER.valueToTree(value);
    }

    static <P> P read(String what, JsonNode written, Class<P> type) {
        try {
            P value = MAPPER.treeToValue(written, type);
            if (value == null) {
                throw new IllegalArgumentException(what + " is missing");
            }
            return value;
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(what + " is invalid: " + e.getOriginalMessage(), e);
        }
    }

    // ---- values that are not records ----

    private interface Reader<T> {
        T read(String text) throws IOException;
    }

    private static <T> void text(SimpleModule module, Class<T> type, Function<T, String> write, Reader<T> read) {
        module.addSerializer(type, new StdSerializer<T>(type) {
            private static final long serialVersionUID = 1L;

            @Override
            public void serialize(T value, JsonGenerator out, SerializerProvider provider) throws IOException {
                out.writeString(write.apply(value));
            }
        });
        module.addDeserializer(type, new StdDeserializer<T>(type) {
            private static final long serialVersionUID = 1L;

            @Override
            public T deserialize(JsonParser in, DeserializationContext context) throws IOException {
                String text = in.getText();
                try {
                    return read.read(text);
                } catch (RuntimeException e) {
                    throw context.weirdStringException(text, type, String.valueOf(e.getMessage()));
                }
            }
        });
    }

    private static ObjectMapper mapper() {
        SimpleModule module = new SimpleModule("rdmatest");
        text(module, Duration.class, Duration::toString, Duration::parse);
        text(module, Gid.class, Gid::toString, Gid::parse);
        // Numeric addresses only: a name may resolve differently on another node.
        text(module, InetAddress.class, InetAddress::getHostAddress, InetAddress::ofLiteral);
        text(module, Histogram.class, RoleTypes::encode, RoleTypes::decode);
        module.addSerializer(new StdSerializer<Options<?>>(Options.class, true) {
            private static final long serialVersionUID = 1L;

            @Override
            public void serialize(Options<?> value, JsonGenerator out, SerializerProvider provider) throws IOException {
                out.writeArray(
                        value.line().toArray(String[]::new), 0, value.line().size());
            }
        });
        module.setDeserializerModifier(new BeanDeserializerModifier() {
            private static final long serialVersionUID = 1L;

            @Override
            public JsonDeserializer<?> modifyDeserializer(
                    DeserializationConfig config, BeanDescription type, JsonDeserializer<?> reader) {
                return Options.class.isAssignableFrom(type.getBeanClass())
                        ? new LineOfOptions<>(type.getBeanClass())
                        : reader;
            }
        });
        return JsonMapper.builder()
                .addModule(module)
                // The components of records only: isGood() is not a property.
                .visibility(PropertyAccessor.ALL, Visibility.NONE)
                .visibility(PropertyAccessor.FIELD, Visibility.ANY)
                .visibility(PropertyAccessor.CREATOR, Visibility.ANY)
                // A role may have no parameters.
                .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
                .enable(
                        DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
                        DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .build();
    }

    /** Reads the options of a program from their line, as its command does. */
    private static final class LineOfOptions<O extends Options<?>> extends StdDeserializer<O> {

        private static final long serialVersionUID = 1L;

        private final transient Class<O> type;

        @SuppressWarnings("unchecked")
        LineOfOptions(Class<?> type) {
            super(type);
            this.type = (Class<O>) type;
        }

        @Override
        public O deserialize(JsonParser in, DeserializationContext context) throws IOException {
            String[] line = in.readValueAs(String[].class);
            try {
                return Options.read(type, List.of(line));
            } catch (IllegalArgumentException e) {
                throw JsonMappingException.from(in, e.getMessage(), e);
            }
        }
    }

    private static String encode(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }

    private static Histogram decode(String text) throws IOException {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new IOException("This is not a histogram", e);
        }
    }
}
