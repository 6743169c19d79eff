package io.rdmatest.arm64;

import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.internal.CLayouts;
import io.rdmatest.loopback.LoopbackLibrary;
import io.rdmatest.loopback.TestProcess;
import java.io.IOException;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * This module on 64-bit Arm, as far as no device is needed: a JVM of that architecture in an emulated process, with that architecture's
 * libibverbs and librdmacm, or with the library that loops back. It is a stand-in: what passes here is no evidence for a fabric.
 */
@Tag("arm64")
@ExtendWith(Arm64.IsThere.class)
@Execution(ExecutionMode.CONCURRENT) // the two emulated JVMs with tests, each on a processor of its own
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(420)
class Arm64HostIT {

    private static final Path TEST_CLASSES = Path.of("target/test-classes");
    private static final String BINDINGS = "io/rdmatest/ffi/";

    /** On a busy host: the tests take 40 s of processor time. */
    private static final int SECONDS = 400;

    /** The packages that call native code or lay out its memory. The others are the same on each architecture, and slow in emulation. */
    private static final Pattern NATIVE =
            Pattern.compile("io\\.rdmatest\\.(internal|internal\\.linux|verbs|cm|rsocket)\\.\\w+Tests");

    /** QEMU's emulation of a process has no mbind(2). Its number is compared with that of the headers. */
    private static final String OF_MBIND = "io.rdmatest.internal.linux.NumaTests";

    private static final Pattern SIZE = Pattern.compile("sizeof\\((?:struct |union )?(\\w+)\\)");
    private static final Pattern MEMBER_SIZE =
            Pattern.compile("sizeof\\(\\(\\((?:struct |union )?(\\w+) \\*\\)0\\)->([\\w.]+)\\)");
    private static final Pattern OFFSET = Pattern.compile("offsetof\\((?:struct |union )?(\\w+), ([\\w.]+)\\)");

    @TempDir
    static Path folder;

    private final Arm64 arm64 = Arm64.find();
    private final Map<String, Long> java = new LinkedHashMap<>();
    private Map<String, String> different = Map.of();

    /** Asks an emulated JVM that has loaded the libraries of its architecture. */
    @BeforeAll
    void ask() throws Exception {
        List<String> command = new ArrayList<>(arm64.java());
        command.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                CLayouts.class.getName()));
        String said = CLayouts.run(command);
        for (String line : said.lines().toList()) {
            String[] parts = line.split("\t");
            assertThat(parts).as(said).hasSize(2);
            java.put(parts[0], Long.valueOf(parts[1]));
        }
        // What is within a mutex is the C library's own, and its names differ.
        java.keySet().removeIf(expression -> expression.contains("(") && expression.contains("__"));
        different = CLayouts.differences(java, CLayouts.evaluate(arm64.compiler(), folder, java.keySet()));
    }

    @Test
    void everyConstantAndSystemCallHasTheNumberThatTheCompilerSays() {
        assertThat(java)
                .hasSizeGreaterThan(1200)
                .containsEntry("SYS_mbind", 235L)
                .containsKeys("EPROTO", "SOL_PACKET");
        assertThat(different.keySet()).allMatch(expression -> expression.contains("("));
    }

    @Test
    void everyFieldThatIsUsedLiesWhereTheCompilerSays() throws Exception {
        assertThat(java.get("offsetof(struct ibv_context, abi_compat)")).isEqualTo(328);
        assertThat(different.keySet())
                .as("what stands behind a mutex")
                .contains("offsetof(struct ibv_qp, events_completed)")
                .doesNotContain("offsetof(struct ibv_context, abi_compat)");
        Set<String> wrong =
                different.keySet().stream().flatMap(Arm64HostIT::accessors).collect(toCollection(TreeSet::new));
        Set<String> used = used();
        assertThat(used).contains("ibv_context.mutex$offset", "ibv_qp.qp_num", "verbs_context.context$offset");
        assertThat(used).filteredOn(method -> method.contains("pthread_")).containsExactly("pthread_mutex_t.sizeof");
        wrong.retainAll(used);
        assertThat(wrong).as("used, and wrong on arm64: %s", different).isEmpty();
    }

    /** Returns which methods of the bindings are not to be called, as a size or an offset differs. */
    private static Stream<String> accessors(String expression) {
        Matcher offset = OFFSET.matcher(expression);
        if (offset.matches()) {
            String member = offset.group(1) + "." + last(offset.group(2));
            return Stream.of(member, member + "$offset", member + "$layout", offset.group(1) + ".allocate");
        }
        Matcher memberSize = MEMBER_SIZE.matcher(expression);
        if (memberSize.matches()) {
            String member = memberSize.group(1) + "." + last(memberSize.group(2));
            return Stream.of(member, member + "$layout", memberSize.group(1) + ".allocate");
        }
        Matcher size = SIZE.matcher(expression);
        assertThat(size.matches()).as(expression).isTrue();
        return Stream.of("sizeof", "layout", "allocate", "allocateArray", "asSlice", "reinterpret")
                .map(method -> size.group(1) + "." + method);
    }

    private static String last(String path) {
        return path.substring(path.lastIndexOf('.') + 1);
    }

    /** Returns the methods of the bindings that this module calls. */
    private static Set<String> used() throws IOException {
        Set<String> used = new TreeSet<>();
        for (ClassModel model : CLayouts.ownClasses()) {
            for (PoolEntry entry : model.constantPool()) {
                if (entry instanceof MemberRefEntry member
                        && member.owner().asInternalName().startsWith(BINDINGS)) {
                    // A struct within another is a class within a class.
                    String struct = member.owner().asInternalName().substring(BINDINGS.length());
                    used.add(struct.replaceFirst("\\$.*", "") + "."
                            + member.name().stringValue());
                }
            }
        }
        return used;
    }

    @TestFactory
    Stream<DynamicTest> unitTests(@TempDir Path own) throws Exception {
        List<String> names;
        try (Stream<Path> files = Files.walk(TEST_CLASSES)) {
            names = files.map(file -> TEST_CLASSES.relativize(file).toString())
                    .filter(file -> file.endsWith("Tests.class"))
                    .map(file ->
                            file.substring(0, file.length() - ".class".length()).replace('/', '.'))
                    .filter(name -> NATIVE.matcher(name).matches() && !name.equals(OF_MBIND))
                    .sorted()
                    .toList();
        }
        return TestProcess.run(own, arm64.java(), null, SECONDS, names);
    }

    @TestFactory
    Stream<DynamicTest> testsOnTheLibraryThatLoopsBack(@TempDir Path own) throws Exception {
        LoopbackLibrary.compileInto(arm64.compiler().compile(), own);
        return TestProcess.run(own, arm64.java(), own, SECONDS, LoopbackLibrary.testCases());
    }
}
