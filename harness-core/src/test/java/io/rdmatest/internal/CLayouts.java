package io.rdmatest.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.linux.NativeCalls;
import io.rdmatest.internal.linux.Numa;
import java.io.IOException;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.FieldModel;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.UnionLayout;
import java.lang.reflect.AccessFlag;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What this JVM takes for the layouts and the constants of C, and what a compiler makes of the headers. Both are values of
 * expressions in C.
 *
 * <p>As a program it prints what it takes, with the architecture and the errno of a call that failed; so it can be asked on another
 * architecture. Its working directory is the module's.
 */
public final class CLayouts {

    /** The classes of the module, from its directory. */
    public static final Path CLASSES = Path.of("target/classes");

    private static final Path JEXTRACT = Path.of("src/main/jextract");
    private static final Pattern UNDECLARED = Pattern.compile("error: .(\\w+). undeclared");
    private static final int ERRNO_VALUES = 134;
    private static final String PACKAGES =
            " (Debian, Ubuntu: apt-get install gcc libc6-dev libibverbs-dev librdmacm-dev; Fedora, RHEL: dnf install gcc"
                    + " rdma-core-devel)";
    /** What the constants that are written by hand are from, beside the headers of the bindings. */
    private static final String HEADERS = """
            #define _GNU_SOURCE
            #include <stddef.h>
            #include <stdio.h>
            #include <sys/mman.h>
            #include <sys/syscall.h>
            #include <sys/timerfd.h>
            #include <netdb.h>
            #include <linux/if_ether.h>
            #include <linux/if_packet.h>
            #include <linux/mempolicy.h>
            #include <linux/netlink.h>
            """;

    private CLayouts() {}

    /**
     * A C compiler.
     *
     * @param compile the program and its options
     * @param run what starts a program that it made; may be empty
     */
    public record Compiler(List<String> compile, List<String> run) {}

    /** Prints each expression, a tab and its value. */
    public static void main(String[] arguments) throws Exception {
        NativeCalls.requireLibraries();
        structs().forEach(CLayouts::print);
        constants().forEach(CLayouts::print);
        print("SYS_mbind", Numa.mbind());
    }

    private static void print(String expression, Number value) {
        System.out.println(expression + "\t" + value);
    }

    /** Returns what the arguments of jextract include, by kind. */
    static Map<String, List<String>> included() throws IOException {
        Map<String, List<String>> included = new LinkedHashMap<>();
        for (String line : Files.readAllLines(JEXTRACT.resolve("jextract.args"))) {
            String[] words = line.strip().split(" ", -1);
            if (words.length == 2 && words[0].startsWith("--include-")) {
                included.computeIfAbsent(words[0].substring("--include-".length()), kind -> new ArrayList<>())
                        .add(words[1]);
            }
        }
        return included;
    }

    /** Returns size and offsets of every struct, as this project uses them on this architecture. */
    public static Map<String, Long> structs() throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        Map<String, List<String>> included = included();
        for (String kind : List.of("struct", "union")) {
            for (String name : included.get(kind)) {
                String type = included.get("typedef").contains(name) ? name : kind + " " + name;
                GroupLayout layout = (GroupLayout) Class.forName("io.rdmatest.ffi." + name)
                        .getMethod("layout")
                        .invoke(null);
                assertThat(layout instanceof UnionLayout).as(name).isEqualTo(kind.equals("union"));
                add(type, layout, expected);
            }
        }
        add("struct ibv_cq_ex", ExtendedQueueLayout.LAYOUT, expected);
        add("struct ibv_sa_path_rec", PathRecordLayout.LAYOUT, expected);
        expected.put("offsetof(struct ibv_context, abi_compat)", ContextLayout.ABI_COMPAT);
        expected.put("sizeof(struct ibv_context)", ContextLayout.SIZE);
        return expected;
    }

    private static void add(String type, GroupLayout layout, Map<String, Long> expected) {
        expected.put("sizeof(" + type + ")", layout.byteSize());
        fields(type, "", layout, 0, expected);
    }

    /** Collects offset and size of every member; the members of an anonymous one belong to the struct around it. */
    private static void fields(String type, String prefix, GroupLayout layout, long base, Map<String, Long> expected) {
        long offset = base;
        for (MemoryLayout member : layout.memberLayouts()) {
            // Padding, and the bit fields that jextract leaves out, have no name to ask for.
            if (!(member instanceof PaddingLayout)) {
                String name = member.name().orElseThrow();
                boolean anonymous = name.startsWith("$anon$");
                if (!anonymous) {
                    expected.put("offsetof(" + type + ", " + prefix + name + ")", offset);
                    // A flexible array member has no size in C.
                    if (member.byteSize() > 0) {
                        expected.put("sizeof(((" + type + " *)0)->" + prefix + name + ")", member.byteSize());
                    }
                }
                if (member instanceof GroupLayout group) {
                    fields(type, anonymous ? prefix : prefix + name + ".", group, offset, expected);
                }
            }
            if (!(layout instanceof UnionLayout)) {
                offset += member.byteSize();
            }
        }
    }

    /** Returns the constants of the bindings; the libraries must be there. */
    static Map<String, Number> boundConstants() throws Exception {
        Map<String, Number> expected = new LinkedHashMap<>();
        for (String name : included().get("constant")) {
            Object value = rdma_h.class.getMethod(name).invoke(null);
            // IBV_ALLOCATOR_USE_DEFAULT is a pointer.
            expected.put(name, value instanceof MemorySegment pointer ? pointer.address() : (Number) value);
        }
        return expected;
    }

    /**
     * Returns the constants that are written by hand: the names of errno values, and all whole numbers that a class has under a
     * name. Most of those names are none of C.
     */
    static Map<String, Number> ownConstants() throws IOException {
        Map<String, Number> expected = new LinkedHashMap<>();
        for (int errno = 1; errno < ERRNO_VALUES; errno++) {
            String name = Errno.name(errno);
            if (!name.startsWith("errno ")) {
                expected.put(name, errno);
            }
        }
        for (ClassModel model : ownClasses()) {
            for (FieldModel field : model.fields()) {
                if (field.flags().has(AccessFlag.STATIC)) {
                    field.findAttribute(Attributes.constantValue())
                            .map(attribute -> attribute.constant().constantValue())
                            .filter(value -> value instanceof Integer || value instanceof Long)
                            .ifPresent(value -> expected.merge(
                                    field.fieldName().stringValue(),
                                    (Number) value,
                                    // Two classes may use a word that is none of C for different things.
                                    (one, other) -> one.longValue() == other.longValue() ? one : Long.MIN_VALUE));
                }
            }
        }
        return expected;
    }

    /** Returns all constants, of the bindings and by hand; the libraries must be there. */
    public static Map<String, Number> constants() throws Exception {
        Map<String, Number> all = new LinkedHashMap<>(boundConstants());
        all.putAll(ownConstants());
        return all;
    }

    /** Returns the compiled classes of this module but the generated ones. */
    public static List<ClassModel> ownClasses() throws IOException {
        List<ClassModel> models = new ArrayList<>();
        try (Stream<Path> files = Files.walk(CLASSES)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".class"))
                    .filter(path -> !path.startsWith(CLASSES.resolve("io/rdmatest/ffi")))
                    .sorted()
                    .toList()) {
                models.add(ClassFile.of().parse(file));
            }
        }
        return models;
    }

    /**
     * Lets a C compiler evaluate expressions; those with names that the headers do not have are left out. Where there is no
     * compiler or a header is missing, the test is skipped.
     */
    public static Map<String, Long> evaluate(Compiler compiler, Path folder, Set<String> expressions) throws Exception {
        Set<String> asked = new LinkedHashSet<>(expressions);
        Path source = folder.resolve("bindings.c");
        Path program = folder.resolve("bindings");
        for (int attempt = 0; ; attempt++) {
            StringBuilder text = new StringBuilder(HEADERS);
            text.append(Files.readString(JEXTRACT.resolve("rdma.h"))).append("int main(void) {\n");
            for (String expression : asked) {
                text.append("printf(\"%lld\\n\", (long long)(")
                        .append(expression)
                        .append("));\n");
            }
            Files.writeString(source, text.append("return 0;\n}\n"));
            List<String> command = new ArrayList<>(compiler.compile);
            command.addAll(List.of("-w", "-o", program.toString(), source.toString()));
            String said = run(command);
            if (Files.exists(program)) {
                break;
            }
            if (said.contains("No such file or directory")) {
                abort("unsupported by the host: headers are missing" + PACKAGES + ": "
                        + said.lines().findFirst().orElse(""));
            }
            boolean fewer = UNDECLARED
                            .matcher(said)
                            .results()
                            .filter(result -> asked.remove(result.group(1)))
                            .count()
                    > 0;
            assertThat(fewer && attempt < 3)
                    .as("what the C compiler says:%n%s", said)
                    .isTrue();
        }
        Map<String, Long> values = new LinkedHashMap<>();
        List<String> command = new ArrayList<>(compiler.run);
        command.add(program.toString());
        List<String> lines = run(command).lines().toList();
        assertThat(lines).hasSameSizeAs(asked);
        int line = 0;
        for (String expression : asked) {
            values.put(expression, Long.valueOf(lines.get(line++)));
        }
        return values;
    }

    /**
     * Compares values of constants.
     *
     * @return name and both values of those that differ
     */
    public static Map<String, String> differences(Map<String, ? extends Number> java, Map<String, Long> compiler) {
        Map<String, String> different = new LinkedHashMap<>();
        compiler.forEach((expression, c) -> {
            Number value = java.get(expression);
            // An unsigned 32-bit value above 2^31 is a negative int in Java.
            boolean same = value.longValue() == c || value.longValue() == c.intValue();
            // Newer headers may append fields to a struct; the libraries keep serving the shorter one.
            boolean grown = expression.matches("sizeof\\((struct )?\\w+\\)") && c > value.longValue();
            if (!same && !grown) {
                different.put(expression, "Java " + value + ", headers " + c);
            }
        });
        return different;
    }

    /**
     * Runs a program for five minutes at most.
     *
     * @return what it wrote to both its outputs
     */
    public static String run(List<String> command) throws InterruptedException, IOException {
        Path output = Files.createTempFile("bindings", ".out");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            try {
                assertThat(process.waitFor(300, TimeUnit.SECONDS))
                        .as("%s ends", command)
                        .isTrue();
            } finally {
                process.destroyForcibly();
            }
            return Files.readString(output, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return abort("unsupported by the host: there is no C compiler" + PACKAGES + ": " + e.getMessage());
        } finally {
            Files.deleteIfExists(output);
        }
    }
}
