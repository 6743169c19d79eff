package io.rdmatest.report.culprits;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamReadException;
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
import java.util.function.LongFunction;
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
            .withCoercionConfig(LogicalType.Textual, config -> config.setCoercion(
                            CoercionInputShape.Integer, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
            .addModule(new SimpleModule()
                    .addSerializer(double.class, new NumberOrNull())
                    .addDeserializer(double.class, new Number())
                    .addDeserializer(
                            int.class, new Whole<>(int.class, 1, value -> (int)
                                    Math.clamp(value, Integer.MIN_VALUE, Integer.MAX_VALUE)))
                    .addDeserializer(long.class, new Whole<>(long.class, 0L, value -> value))
                    .addDeserializer(Long.class, new Whole<>(Long.class, null, value -> value)))
            .build();

    private PairJson() {}

    /** Returns whether a line is no JSON, as one that was cut short. */
    static boolean isNoJson(IOException e) {
        return e instanceof StreamReadException || e.getCause() instanceof StreamReadException;
    }

    /**
     * Returns why a line is no cell, as a clause.
     *
     * @param e as Jackson has it
     */
    static String reason(IOException e) {
        if (isNoJson(e)) {
            StreamReadException parsing = (StreamReadException) (e instanceof StreamReadException ? e : e.getCause());
            return String.valueOf(parsing.getOriginalMessage());
        }
        if (e.getCause() instanceof IllegalArgumentException rule) {
            return String.valueOf(rule.getMessage());
        }
        if (e instanceof InvalidTypeIdException schema) {
            return "\"schema\" is \"%s\", and this build reads \"%s\"".formatted(schema.getTypeId(), PairLine.SCHEMA);
        }
        if (!(e instanceof MismatchedInputException mismatch)) {
            return String.valueOf(e.getMessage());
        }
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
                                : type.isPrimitive() || type == Long.class
                                        ? mismatch.getOriginalMessage()
                                        : "not an object");
    }

    /** Numbers that were not measured are NaN. */
    private static final class Number extends StdDeserializer<Double> {

        private static final long serialVersionUID = 1L;

        Number() {
            super(double.class);
        }

        @Override
        public Double deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            return number(parser, double.class);
        }

        static double number(JsonParser parser, Class<?> type) throws IOException {
            if (!parser.currentToken().isNumeric()) {
                throw MismatchedInputException.from(parser, type, "not a number");
            }
            double value = parser.getDoubleValue();
            if (Double.isNaN(value)) {
                throw MismatchedInputException.from(parser, type, "NaN: it must be a number, or null");
            }
            return value;
        }

        @Override
        public Double getNullValue(DeserializationContext context) {
            return Double.NaN;
        }

        @Override
        public Object getAbsentValue(DeserializationContext context) {
            return Double.NaN;
        }
    }

    /** Whole numbers may be written as 1e3. */
    private static final class Whole<T> extends StdDeserializer<T> {

        private static final long serialVersionUID = 1L;

        private final @Nullable T missing;
        private final transient LongFunction<T> make;

        Whole(Class<T> type, @Nullable T missing, LongFunction<T> make) {
            super(type);
            this.missing = missing;
            this.make = make;
        }

        @Override
        public T deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (parser.currentToken().isNumeric() && parser.isExpectedNumberIntToken()) {
                return make.apply(parser.getLongValue());
            }
            double value = Number.number(parser, handledType());
            if (value != Math.rint(value) || Math.abs(value) > Long.MAX_VALUE / 2.0) {
                throw MismatchedInputException.from(parser, handledType(), "not a whole number");
            }
            return make.apply((long) value);
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
            String text = parser.getValueAsString();
            if (text == null) {
                JsonParser ignored = parser.skipChildren();
            }
            return text;
        }
    }
}
