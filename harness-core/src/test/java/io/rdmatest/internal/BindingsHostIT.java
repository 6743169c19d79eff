package io.rdmatest.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmatest.NativeLibraryException;
import io.rdmatest.ffi.rdma_h;
import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.UnionLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the generated bindings with what the C compiler says of the installed headers: every struct's size, every
 * field's offset and size, every constant.
 *
 * <p>Runs on the host's JVM, because layouts need no device and the compiler is there. Constants need {@code rdma_h}, which
 * opens the libraries when it is initialised; without them the test is skipped, as it is without compiler or headers.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BindingsHostIT {

    private static final Path JEXTRACT = Path.of("src/main/jextract");
    private static final Pattern UNDECLARED = Pattern.compile("error: .(\\w+). undeclared");
    private static final String PACKAGES =
            " (Debian, Ubuntu: apt-get install gcc libc6-dev libibverbs-dev librdmacm-dev; Fedora, RHEL: dnf install gcc"
                    + " rdma-core-devel)";

    private final Map<String, List<String>> included = new LinkedHashMap<>();

    @BeforeAll
    void readWhatWasGenerated() throws IOException {
        for (String line : Files.readAllLines(JEXTRACT.resolve("jextract.args"))) {
            String[] words = line.strip().split(" ", -1);
            if (words.length == 2 && words[0].startsWith("--include-")) {
                included.computeIfAbsent(words[0].substring("--include-".length()), kind -> new ArrayList<>())
                        .add(words[1]);
            }
        }
    }

    @Test
    void everyStructHasTheSizeAndTheFieldsThatTheCompilerSays(@TempDir Path folder) throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        Set<String> types = new TreeSet<>();
        for (String kind : List.of("struct", "union")) {
            for (String name : included.get(kind)) {
                String type = included.get("typedef").contains(name) ? name : kind + " " + name;
                GroupLayout layout = layout(name);
                assertThat(layout instanceof UnionLayout).as(name).isEqualTo(kind.equals("union"));
                types.add(name);
                expected.put("sizeof(" + type + ")", layout.byteSize());
                fields(type, "", layout, 0, expected);
            }
        }
        assertThat(types).hasSize(60);
        assertThat(expected.size()).as("sizes and offsets to compare").isGreaterThan(600);

        Map<String, Long> actual = evaluate(folder, expected.keySet());
        assertThat(actual.keySet()).containsExactlyElementsOf(expected.keySet());
        Map<String, String> different = new LinkedHashMap<>();
        expected.forEach((expression, value) -> {
            long c = actual.get(expression);
            // Newer headers may append fields to a struct; the libraries keep serving the shorter one.
            boolean grown = expression.matches("sizeof\\((struct )?\\w+\\)") && c > value;
            if (c != value && !grown) {
                different.put(expression, "bindings " + value + ", headers " + c);
            }
        });
        assertThat(different).isEmpty();
    }

    @Test
    void theStructWrittenByHandIsWhatTheCompilerSays(@TempDir Path folder) throws Exception {
        String type = "struct ibv_device_attr_ex";
        Map<String, Long> expected = new LinkedHashMap<>();
        expected.put("sizeof(" + type + ")", ExtendedDeviceLayout.LAYOUT.byteSize());
        fields(type, "", ExtendedDeviceLayout.LAYOUT, 0, expected);
        assertThat(expected).hasSizeGreaterThan(150);
        assertThat(evaluate(folder, expected.keySet())).isEqualTo(expected);
    }

    @Test
    void everyConstantHasTheValueThatTheCompilerSays(@TempDir Path folder) throws Exception {
        try {
            Native.requireLibraries();
        } catch (NativeLibraryException e) {
            abort("unsupported by the host: " + e.getMessage());
        }
        Map<String, Number> expected = new LinkedHashMap<>();
        for (String name : included.get("constant")) {
            Object value = rdma_h.class.getMethod(name).invoke(null);
            // IBV_ALLOCATOR_USE_DEFAULT is a pointer.
            expected.put(name, value instanceof MemorySegment pointer ? pointer.address() : (Number) value);
        }
        assertThat(expected).hasSize(384);

        Map<String, Long> actual = evaluate(folder, expected.keySet());
        // Headers that are older than the bindings lack a few; more than that would be a comparison of nothing.
        assertThat(actual).hasSizeGreaterThan(360);
        Map<String, String> different = new LinkedHashMap<>();
        actual.forEach((name, c) -> {
            Number value = expected.get(name);
            // An unsigned 32-bit value above 2^31 is a negative int in Java.
            long compared = value instanceof Integer ? c.intValue() : c;
            if (compared != value.longValue()) {
                different.put(name, "bindings " + value + ", headers " + c);
            }
        });
        assertThat(different).isEmpty();
    }

    private static GroupLayout layout(String name) throws ReflectiveOperationException {
        return (GroupLayout)
                Class.forName("io.rdmatest.ffi." + name).getMethod("layout").invoke(null);
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

    /** Lets the C compiler evaluate expressions; those with names that the headers do not have are left out. */
    private static Map<String, Long> evaluate(Path folder, Set<String> expressions) throws Exception {
        Set<String> asked = new LinkedHashSet<>(expressions);
        Path source = folder.resolve("bindings.c");
        Path program = folder.resolve("bindings");
        for (int attempt = 0; ; attempt++) {
            StringBuilder text = new StringBuilder("#define _GNU_SOURCE\n#include <stddef.h>\n#include <stdio.h>\n");
            text.append(Files.readString(JEXTRACT.resolve("rdma.h"))).append("int main(void) {\n");
            for (String expression : asked) {
                text.append("printf(\"%lld\\n\", (long long)(")
                        .append(expression)
                        .append("));\n");
            }
            Files.writeString(source, text.append("return 0;\n}\n"));
            String said = run(List.of("cc", "-w", "-o", program.toString(), source.toString()));
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
        List<String> lines = run(List.of(program.toString())).lines().toList();
        assertThat(lines).hasSameSizeAs(asked);
        int line = 0;
        for (String expression : asked) {
            values.put(expression, Long.valueOf(lines.get(line++)));
        }
        return values;
    }

    private static String run(List<String> command) throws InterruptedException, IOException {
        Path output = Files.createTempFile("bindings", ".out");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            try {
                assertThat(process.waitFor(60, TimeUnit.SECONDS))
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
