package io.rdmatest.scenarios.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Promises;
import io.rdmatest.fabric.Rail;
import io.rdmatest.peer.LineKind;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.Gid;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** All roles and their results on the way to another node and back. */
class RoleTypesTests {

    private static final int TRIES = 200;
    private static final int ROUNDS = 40;
    private static final int OPTIONS = 4;
    private static final int[] NUMBERS = {0, 1, 2, 3, 8, 16, 23, 64, 100, 1000, 4096, 65_535, -1};
    private static final String[] TEXTS = {"", "custom", "10.77.0.1", "fd77::1", "ä \"quoted\"\n", "fe80::1"};
    private static final BiConsumer<LineKind, String> NOBODY = (kind, line) -> {};

    static List<RoleTypes.Type<?, ?, ?>> types() {
        return List.copyOf(RoleTypes.all());
    }

    /** Whoever adds a role has to register it; nothing else would tell before it is wanted on another node. */
    @Test
    void everyRoleIsRegistered() throws Exception {
        Set<Class<?>> registered =
                RoleTypes.all().stream().map(RoleTypes.Type::role).collect(Collectors.toSet());
        // Stands for a role that runs elsewhere.
        Set<Class<?>> roles = rolesOfAllPackages();
        roles.remove(RemoteRun.class);

        assertThat(roles).hasSizeGreaterThan(15).isEqualTo(registered);
    }

    private static Set<Class<?>> rolesOfAllPackages() throws Exception {
        String own = Role.class.getName().replace('.', '/') + ".class";
        URI place = Objects.requireNonNull(Role.class.getClassLoader().getResource(own))
                .toURI();
        if (place.getScheme().equals("jar")) {
            Path jar = Path.of(URI.create(place.getSchemeSpecificPart().replaceFirst("!.*", "")));
            try (FileSystem files = FileSystems.newFileSystem(jar)) {
                return rolesBelow(files.getPath(own).getParent().getParent());
            }
        }
        return rolesBelow(Path.of(place).getParent().getParent());
    }

    /** Looks at every package, also at those that no role is expected in. */
    private static Set<Class<?>> rolesBelow(Path scenarios) throws IOException, ClassNotFoundException {
        String prefix = Role.class.getPackageName().replaceFirst("[^.]*$", "");
        Set<Class<?>> roles = new HashSet<>();
        try (Stream<Path> files = Files.walk(scenarios)) {
            for (Path file : files.toList()) {
                String name = scenarios.relativize(file).toString();
                if (name.endsWith(".class") && !name.endsWith("package-info.class")) {
                    String type = prefix + name.replace(".class", "").replace('/', '.');
                    Class<?> found = Class.forName(type, false, Role.class.getClassLoader());
                    if (Role.class.isAssignableFrom(found) && !found.isInterface()) {
                        roles.add(found);
                    }
                }
            }
        }
        return roles;
    }

    @ParameterizedTest
    @MethodSource("types")
    void parametersSurvive(RoleTypes.Type<?, ?, ?> type) throws Exception {
        parametersSurviveOf(type);
    }

    private static <T extends Role<R>, P, R> void parametersSurviveOf(RoleTypes.Type<T, P, R> type) throws Exception {
        Random random = new Random(type.name().hashCode());
        Set<JsonNode> different = new HashSet<>();
        for (int i = 0; i < ROUNDS; i++) {
            Object parameters = value(type.parameters(), random);
            T role = type.make().apply(type.parameters().cast(parameters), NOBODY);
            JsonNode written = type.write(role);
            different.add(written);

            T read = type.read(
                    JsonNodeFactory.instance.objectNode().set("x", written).path("x"), NOBODY);
            assertThat(read).isExactlyInstanceOf(type.role());
            assertThat(type.take().apply(read))
                    .usingRecursiveComparison()
                    .withEqualsForType(Histogram::equals, Histogram.class)
                    .isEqualTo(parameters);
        }
        assertThat(different).as("different parameters").hasSizeGreaterThan(leastDifferentOf(type.role()) - 1);
    }

    /** Returns how many different parameters are expected at least: a role may have none, or switches only. */
    private static int leastDifferentOf(Class<?> role) {
        RecordComponent[] components = role.getRecordComponents();
        boolean onlySwitches = Arrays.stream(components).allMatch(component -> component.getType() == boolean.class);
        return onlySwitches ? 1 << components.length : ROUNDS / 4 + 1;
    }

    @ParameterizedTest
    @MethodSource("types")
    void resultsSurvive(RoleTypes.Type<?, ?, ?> type) throws Exception {
        Random random = new Random(type.name().hashCode());
        for (int i = 0; i < ROUNDS; i++) {
            Object result = value(type.result(), random);
            Object read = type.readResult(type.writeResult(result));

            assertThat(read)
                    .usingRecursiveComparison()
                    .withEqualsForType(Histogram::equals, Histogram.class)
                    .isEqualTo(result);
        }
    }

    @Test
    void aRoleIsFoundByItsRecord() {
        Role<byte[]> role = new UcmatoseRoles.AskingClient(new byte[3], Duration.ofSeconds(1));

        assertThat(RoleTypes.of(role).name()).isEqualTo("asking-client");
        assertThat(RoleTypes.named("asking-client").role()).isEqualTo(role.getClass());
    }

    @Test
    void whatIsNotRegisteredIsRefused() {
        Role<String> role = context -> "x";

        assertThatThrownBy(() -> RoleTypes.of(role)).hasMessageContaining("is not registered");
        assertThatThrownBy(() -> RoleTypes.named("java.lang.Runtime"))
                .hasMessageContaining("No role is named 'java.lang.Runtime'")
                .hasMessageContaining("rping-server");
    }

    @Test
    void parametersThatNoRoleHasAreRefused() {
        RoleTypes.Type<?, ?, ?> type = RoleTypes.named("silent-server");
        ObjectNode parameters = JsonNodeFactory.instance.objectNode();

        assertThatThrownBy(() -> type.read(parameters, NOBODY)).hasMessageContaining("silent-server is invalid");
        parameters.put("timeout", "PT1S").put("@class", "java.lang.Runtime");
        assertThatThrownBy(() -> type.read(parameters, NOBODY)).hasMessageContaining("@class");
    }

    /** The wrong value is refused by the options themselves, with their own words. */
    @Test
    void valuesOutOfRangeAreRefusedThere() {
        JsonNode options = RoleTypes.write(List.of("-p", "70000"));

        assertThatThrownBy(() -> RoleTypes.named("rping-server").read(options, NOBODY))
                .hasMessageContaining("The port (-p) is 0 to 65535, not 70000");
    }

    @Test
    void optionsWithinARoleAreCheckedThere() {
        ObjectNode role = (ObjectNode) RoleTypes.write(new UcmatoseRoles.Server(UcmatoseOptions.parse()));
        role.set("options", RoleTypes.write(List.of("-p", "70000")));

        assertThatThrownBy(() -> RoleTypes.named("ucmatose-server").read(role, NOBODY))
                .hasMessageContaining("The port is 70000: allowed are 0 to 65535");
    }

    /** A default in its place would run something else than the other node asked for. */
    @Test
    void anOptionThatIsUnknownThereIsRefused() {
        JsonNode options = RoleTypes.write(List.of("--of-a-later-version"));

        assertThatThrownBy(() -> RoleTypes.named("rping-server").read(options, NOBODY))
                .hasMessageContaining("Unknown option: '--of-a-later-version'");
    }

    @Test
    void linesOfRpingComeOut() {
        List<String> lines = new ArrayList<>();
        RpingRoles.Client client = (RpingRoles.Client) RoleTypes.named("rping-client")
                .read(RoleTypes.write(RpingOptions.parse()), (kind, line) -> lines.add(kind + " " + line));
        client.printed().accept("a ping");
        client.traced().accept("an event");

        assertThat(lines).containsExactly("PRINTED a ping", "TRACED an event");
    }

    @Test
    void nodesSurviveWithoutTheirCommand() throws Exception {
        Node node = new Node(
                "lab",
                "b",
                "mlx5_0",
                2,
                new GidSelector(java.util.OptionalInt.empty(), GidSelector.Type.ROCE_V2, GidSelector.Family.IPV6),
                InetAddress.ofLiteral("192.0.2.12"),
                List.of("ssh", "b"));
        Rail rail = node.port().rail();
        for (GidSelector gid : List.of(rail.gid(), GidSelector.ofIndex(3), GidSelector.AUTO)) {
            Node there = new Node("lab", "b", "mlx5_0", 2, gid, rail.address(), List.of());
            Node sent = new Node("lab", "b", "mlx5_0", 2, gid, rail.address(), node.launch());

            for (InetAddress peer : new InetAddress[] {null, InetAddress.ofLiteral("fd77::1")}) {
                PlacedNode read =
                        RoleTypes.read("node", RoleTypes.write(PlacedNode.of(sent.port(), peer)), PlacedNode.class);

                assertThat(read.toNode()).isEqualTo(there);
                assertThat(read.peer()).isEqualTo(peer);
            }
        }
    }

    /** Its own interface is known there alone. */
    @Test
    void theScopeOfANodesAddressIsSentAsItIs() throws Exception {
        Rail rail = new Rail(
                "",
                "auto",
                0,
                GidSelector.AUTO,
                InetAddress.ofLiteral("fe80::12"),
                "no-such-here",
                Promises.NONE,
                null);
        Node node = new Node("lab", "b", List.of("ssh", "b"), Node.DEFAULT_JAVA, Map.of(), List.of(rail));

        PlacedNode read = RoleTypes.read("node", RoleTypes.write(PlacedNode.of(node.port(), null)), PlacedNode.class);

        assertThat(read.toNode().rails()).containsExactly(rail);
    }

    // ---- random values ----

    /** Records with ranges change one component after the other as far as they allow it. */
    private static Object value(Type type, Random random) throws Exception {
        if (type instanceof ParameterizedType list && list.getRawType() == List.class) {
            List<Object> values = new ArrayList<>();
            for (int i = random.nextInt(4); i > 0; i--) {
                values.add(value(list.getActualTypeArguments()[0], random));
            }
            return values;
        }
        if (type instanceof ParameterizedType map && map.getRawType() == Map.class) {
            Map<Object, Object> values = new HashMap<>();
            for (int i = random.nextInt(4); i > 0; i--) {
                values.put("key " + i, value(map.getActualTypeArguments()[1], random));
            }
            return values;
        }
        Class<?> raw = (Class<?>) type;
        if (raw.isRecord()) {
            return mutated(raw, random);
        }
        if (Options.class.isAssignableFrom(raw)) {
            return changed((Class) raw, random);
        }
        if (raw.isEnum()) {
            Object[] constants = raw.getEnumConstants();
            return constants[random.nextInt(constants.length)];
        }
        int number = NUMBERS[random.nextInt(NUMBERS.length)];
        return switch (raw.getName()) {
            case "int", "java.lang.Integer" -> number;
            case "long", "java.lang.Long" -> random.nextBoolean() ? (long) number : random.nextLong();
            case "double" -> random.nextBoolean() ? 1.0 : random.nextDouble();
            case "boolean", "java.lang.Boolean" -> random.nextBoolean();
            case "java.lang.String" -> TEXTS[random.nextInt(TEXTS.length)];
            case "java.time.Duration" -> Duration.ofNanos(1 + random.nextLong(1L << 40));
            case "[B" -> bytes(random, random.nextInt(60));
            case "java.net.InetAddress" ->
                random.nextInt(3) == 0
                        ? InetAddress.ofLiteral("239.1.2.3")
                        : InetAddress.getByAddress(bytes(random, random.nextBoolean() ? 4 : 16));
            case "io.rdmatest.verbs.Gid" ->
                random.nextBoolean()
                        ? Gid.of(bytes(random, Gid.LENGTH))
                        : Gid.of(InetAddress.getByAddress(bytes(random, 4)));
            case "org.HdrHistogram.Histogram" -> histogram(random);
            default -> throw new IllegalArgumentException("The test makes no " + raw);
        };
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static Histogram histogram(Random random) {
        Histogram histogram = new Histogram(3);
        for (int i = random.nextInt(100); i > 0; i--) {
            histogram.recordValue(random.nextLong(1L << random.nextInt(1, 40)));
        }
        return histogram;
    }

    private static Object mutated(Class<?> type, Random random) throws Exception {
        RecordComponent[] components = type.getRecordComponents();
        @Nullable Object[] values = new Object[components.length];
        Constructor<?> constructor = type.getDeclaredConstructor(
                Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
        constructor.setAccessible(true);
        if (components.length == 0) {
            return constructor.newInstance();
        }
        for (int i = 0; i < components.length; i++) {
            values[i] = value(components[i].getGenericType(), random);
        }
        Object last = null;
        for (int i = 0; i < TRIES && !(i > 2 * components.length && last != null); i++) {
            int which = random.nextInt(components.length);
            Object before = values[which];
            if (last != null || i > 0) {
                boolean empty = components[which].getAnnotatedType().isAnnotationPresent(Nullable.class)
                        && random.nextInt(3) == 0;
                values[which] = empty ? null : value(components[which].getGenericType(), random);
            }
            try {
                last = constructor.newInstance(values);
            } catch (InvocationTargetException e) {
                if (last != null) {
                    values[which] = before;
                }
            }
        }
        return Objects.requireNonNull(last, () -> "no values for " + type);
    }

    /** Begins with the defaults, and adds one option after the other as far as the others allow it. */
    private static <O extends Options<O>> O changed(Class<O> type, Random random) throws Exception {
        O last = Options.parse(type);
        List<OptionSpec> known = new ArrayList<>(
                CommandSpec.forAnnotatedObject(CommandLine.defaultFactory().create(type))
                        .options());
        for (int i = 0; i < OPTIONS; i++) {
            OptionSpec option = known.get(random.nextInt(known.size()));
            try {
                last = last.and(option.longestName(), option.arity().max() == 0 ? "" : text(option, random));
            } catch (IllegalArgumentException e) {
                // Out of range, or excluded by another value.
            }
        }
        return last;
    }

    private static Object text(OptionSpec option, Random random) throws Exception {
        if (option.type() == Duration.class) {
            return Duration.ofMillis(1 + random.nextInt(1000));
        }
        boolean known = option.type().isEnum()
                || List.of(int.class, Integer.class, String.class, InetAddress.class)
                        .contains(option.type());
        return known ? value(option.type(), random) : NUMBERS[random.nextInt(NUMBERS.length)];
    }
}
