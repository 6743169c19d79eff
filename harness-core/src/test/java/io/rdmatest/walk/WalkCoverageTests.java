package io.rdmatest.walk;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.verbs.VerbsBridge;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds the random walk to the whole public API: a method that is new is walked over, or exempted with a reason. */
class WalkCoverageTests {

    private static final List<String> PACKAGES = List.of("verbs", "cm", "rsocket", "stream");

    private static final String WITHOUT_XRC = "soft-RoCE has no XRC: the loop-back library has";

    /** Methods that no walk calls, by class and name, and why. */
    private static final Map<String, String> EXEMPT = Map.ofEntries(
            Map.entry("CmId.connect with a timeout", "it is connect and expectEvent in one"),
            Map.entry(
                    "Parameters.withLidPath",
                    "LIDs are of InfiniBand, and soft-RoCE has none: the loop-back library has"),
            Map.entry("XrcDomain.createTarget", WITHOUT_XRC),
            Map.entry("XrcTarget.modify", WITHOUT_XRC),
            Map.entry("Builder.xrcInitiator", WITHOUT_XRC),
            Map.entry("SendRequests.sharedReceiveQueue", WITHOUT_XRC),
            Map.entry("PathRecord.addressVector", "the paths of RoCE have no LID: the loop-back library's have"),
            Map.entry("CmEvent.require", "expectEvent calls it for every event"),
            Map.entry("DriverQuirks.isMessageTooLong", "it judges a status: DriverQuirksTests"),
            Map.entry("DriverQuirks.isPeersReceiveTooShort", "it judges a status: DriverQuirksTests"),
            Map.entry("DriverQuirks.isSoftware", "it judges a name: DriverQuirksTests"),
            Map.entry("DriverQuirks.repeatsOnASlowHost", "it judges a name: DriverQuirksTests"),
            Map.entry("DriverQuirks.retriesWithoutEnd", "it judges a name: DriverQuirksTests"),
            Map.entry("RemoteMemory.slice", "it computes a value: RemoteMemoryTests"),
            Map.entry("EventChannel.unusable", "it looks at a file of the host: ManagerFileTests"));

    @Test
    void everyPublicMethodIsWalkedOver() throws Exception {
        Set<String> called = called();
        Set<String> missing = new TreeSet<>();
        for (Class<?> type : publicClasses()) {
            if (type.isEnum() || Throwable.class.isAssignableFrom(type)) {
                continue;
            }
            Set<Method> looks = new HashSet<>(Looks.of(type));
            for (Method method : type.getDeclaredMethods()) {
                boolean ofObject = Set.of("equals", "hashCode", "toString").contains(method.getName());
                if (!Modifier.isPublic(method.getModifiers())
                        || method.isSynthetic()
                        || ofObject
                        || looks.contains(method)
                        || type.isRecord() && method.getParameterCount() == 0) {
                    continue;
                }
                String name = type.getSimpleName() + "." + method.getName();
                if (!called.contains(name)) {
                    missing.add(name);
                }
            }
        }
        missing.removeAll(EXEMPT.keySet());
        assertThat(missing)
                .as("methods that no operation of the random walk calls")
                .isEmpty();
    }

    private static Set<String> called() throws Exception {
        Set<String> called = new HashSet<>();
        for (byte[] bytes : classFiles(Walk.class, "walk")) {
            for (PoolEntry entry : ClassFile.of().parse(bytes).constantPool()) {
                if (entry instanceof MemberRefEntry member) {
                    String owner = member.owner().asInternalName();
                    if (owner.startsWith("io/rdmatest/")) {
                        called.add(owner.substring(Math.max(owner.lastIndexOf('/'), owner.lastIndexOf('$')) + 1) + "."
                                + member.name().stringValue());
                    }
                }
            }
        }
        return called;
    }

    private static List<Class<?>> publicClasses() throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (String name : PACKAGES) {
            for (byte[] bytes : classFiles(io.rdmatest.Ledger.class, name)) {
                Class<?> type = Class.forName(
                        ClassFile.of().parse(bytes).thisClass().asInternalName().replace('/', '.'),
                        false,
                        WalkCoverageTests.class.getClassLoader());
                boolean isPublic = Modifier.isPublic(type.getModifiers());
                for (Class<?> outer = type.getDeclaringClass(); outer != null; outer = outer.getDeclaringClass()) {
                    isPublic &= Modifier.isPublic(outer.getModifiers());
                }
                if (isPublic
                        // Users can't get its only object.
                        && type != VerbsBridge.class
                        && !type.getSimpleName().endsWith("IT")
                        && !type.getSimpleName().endsWith("Tests")) {
                    classes.add(type);
                }
            }
        }
        assertThat(classes).hasSizeGreaterThan(40);
        return classes;
    }

    /** Reads the class files of a package from where a class came from: a folder or a jar. */
    private static List<byte[]> classFiles(Class<?> from, String name) throws IOException, URISyntaxException {
        Path place =
                Path.of(from.getProtectionDomain().getCodeSource().getLocation().toURI());
        if (Files.isDirectory(place)) {
            return read(place.resolve("io/rdmatest").resolve(name));
        }
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + place.toUri()), Map.of())) {
            return read(jar.getPath("io/rdmatest", name));
        }
    }

    private static List<byte[]> read(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".class")
                            && !file.toString().endsWith("package-info.class"))
                    .map(file -> {
                        try {
                            return Files.readAllBytes(file);
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    })
                    .toList();
        }
    }
}
