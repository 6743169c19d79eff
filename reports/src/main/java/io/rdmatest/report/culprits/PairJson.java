package io.rdmatest.report.culprits;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamReadException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.exc.InvalidTypeIdException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Tells Jackson how {@code pairs.jsonl} has numbers, and tells people why a line is no cell. */
final class PairJson {

    static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
            // So that the message on one is ours.
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .withCoercionConfig(
                    LogicalType.Textual,
                    config -> config.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                            .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
            .addModule(new SimpleModule()
                    .addSerializer(double.class, new NumberOrNull())
                    .addDeserializer(double.class, new Figure<>(double.class, Double.NaN, PairJson::number))
                    .addDeserializer(long.class, new Figure<>(long.class, 0L, PairJson::whole))
                    .addDeserializer(Long.class, new Figure<>(Long.class, null, PairJson::whole))
                    .addDeserializer(
                            int.class,
                            new Figure<>(
                                    int.class,
                                    1,
                                    parser -> Math.clamp(whole(parser), Integer.MIN_VALUE, Integer.MAX_VALUE))))
            .build();

    private PairJson() {}

    /** Returns whether a line is no JSON, as one that was cut short. */
    static boolean isNoJson(IOException e) {
        return origin(e) instanceof StreamReadException;
    }

    /** Jackson adds the member to an exception, or wraps it. */
    private static Throwable origin(IOException e) {
        return e instanceof JsonMappingException && e.getCause() != null ? e.getCause() : e;
    }

    /**
     * Returns why a line is no cell, as a clause.
     *
     * @param e as Jackson has it
     */
    static String reason(IOException e) {
        return switch (origin(e)) {
            case JsonEOFException cut -> "the line ends within the cell";
            case StreamReadException parsing -> String.valueOf(parsing.getOriginalMessage());
            case IllegalArgumentException rule -> String.valueOf(rule.getMessage());
            case InvalidTypeIdException schema ->
                "\"schema\" is \"%s\", and this build reads \"%s\"".formatted(schema.getTypeId(), PairLine.SCHEMA);
            case MismatchedInputException mismatch -> reason(mismatch);
            default -> String.valueOf(e.getMessage());
        };
    }

    private static String reason(MismatchedInputException mismatch) {
        String member = mismatch.getPath().stream()
                .map(JsonMappingException.Reference::getFieldName)
                .collect(Collectors.joining("."));
        if (member.isEmpty()) {
            return mismatch.getMessage().startsWith("Trailing token")
                    ? "it goes on behind the cell"
                    : "it is not a JSON object";
        }
        Class<?> type = mismatch.getTargetType();
        return "\"" + member + "\" is "
                + (type == String.class || type == PairLine.Outcome.class
                        ? "not a string"
                        : type == boolean.class
                                ? "not true or false"
                                : type == double.class ? mismatch.getOriginalMessage() : "not an object");
    }

    private static double number(JsonParser parser) throws IOException {
        if (!parser.currentToken().isNumeric()) {
            throw MismatchedInputException.from(parser, double.class, "not a number");
        }
        double value = parser.getDoubleValue();
        if (Double.isNaN(value)) {
            throw MismatchedInputException.from(parser, double.class, "NaN: it must be a number, or null");
        }
        return value;
    }

    /** Whole numbers may be written as 1e3. */
    private static long whole(JsonParser parser) throws IOException {
        if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT) {
            return parser.getLongValue();
        }
        double value = number(parser);
        if (value != Math.rint(value) || Math.abs(value) > Long.MAX_VALUE / 2.0) {
            throw MismatchedInputException.from(parser, double.class, "not a whole number");
        }
        return (long) value;
    }

    /** Reads a number, which has a value where it is null or missing. */
    private static final class Figure<T> extends StdDeserializer<T> {

        private static final long serialVersionUID = 1L;

        @FunctionalInterface
        private interface Reading<T> {
            T of(JsonParser parser) throws IOException;
        }

        private final transient @Nullable T missing;
        private final transient Reading<T> reading;

        Figure(Class<T> type, @Nullable T missing, Reading<T> reading) {
            super(type);
            this.missing = missing;
            this.reading = reading;
        }

        @Override
        public T deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            return reading.of(parser);
        }

        @Override
        public @Nullable T getNullValue(DeserializationContext context) {
            return missing;
        }

        @Override
        public @Nullable Object getAbsentValue(DeserializationContext context) {
            return missing;
        }
    }

    /** Writes null for what was not measured. */
    private static final class NumberOrNull extends StdSerializer<Double> {

        private static final long serialVersionUID = 1L;

        NumberOrNull() {
            super(double.class, false);
        }

        @Override
        public void serialize(Double value, JsonGenerator json, SerializerProvider provider) throws IOException {
            if (value.isNaN()) {
                json.writeNull();
            } else {
                json.writeNumber(value);
            }
        }
    }

    /** In lines of cells, a member may belong to another tool, with any type. */
    static final class TextIfAny extends StdDeserializer<String> {

        private static final long serialVersionUID = 1L;

        TextIfAny() {
            super(String.class);
        }

        @Override
        public @Nullable String deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            JsonParser ignored = parser.skipChildren();
            return parser.currentToken() == JsonToken.VALUE_STRING ? parser.getText() : null;
        }
    }
}
