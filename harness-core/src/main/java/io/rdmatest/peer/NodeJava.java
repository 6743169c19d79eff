package io.rdmatest.peer;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/** Finds the java that runs the agent on a node. */
public final class NodeJava {

    /** The lowest version of Java that the agent runs on. */
    public static final int LEAST_VERSION = 25;

    private NodeJava() {}

    /**
     * Returns a POSIX shell function {@code find_java NAME} for the node. It sets {@code java} to the path of the first
     * java of version {@value #LEAST_VERSION} or later, or to an empty text. If the name is empty it tries {@code
     * RDMATEST_JAVA}; if that is unset too, this JVM's own path, {@code JAVA_HOME}, the {@code PATH} and {@code
     * /usr/lib/jvm}. It does not read standard input.
     *
     * @return the text of the function
     */
    public static String finder() {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        return resource("find-java.sh")
                .replace("@JAVA@", PosixShell.quote(java))
                .replace("@VERSION@", Integer.toString(LEAST_VERSION));
    }

    static String resource(String name) {
        try (InputStream in = Objects.requireNonNull(NodeJava.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("Can't read the script " + name, e);
        }
    }
}
