package io.rdmatest.peer;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Copies the agent's jar to a node and starts it there. The node needs only a shell, which reads the script from its
 * standard input. {@code ssh} passes standard input on unchanged; arguments would go through another shell.
 */
final class Bootstrap {

    /** Exit statuses of the script. */
    private static final int NO_JAVA = 97;

    private static final int OLD_JAVA = 98;
    private static final int NO_SPACE = 99;
    private static final int NO_COMMAND = 127;

    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final String SEND = "rdmatest-agent: send";

    /** A line of the script that no other program prints. */
    private static final String SCRIPT_LINE = "start_the_agent() {";

    /** The jars that were read by now. All nodes of a run get the same one. */
    private static final Map<Path, Jar> READ = new ConcurrentHashMap<>();

    /** A jar, as it was when it was read. */
    record Jar(Path path, long length, FileTime modified, String sha256) {

        /** Reads a jar, unless it was read before and is still the same file. */
        static Jar of(Path path) {
            return READ.compute(path.toAbsolutePath(), (absolute, known) -> {
                try {
                    FileTime modified = Files.getLastModifiedTime(absolute);
                    if (known != null && known.modified.equals(modified) && known.length == Files.size(absolute)) {
                        return known;
                    }
                    byte[] content = Files.readAllBytes(absolute);
                    MessageDigest digest = MessageDigest.getInstance("SHA-256");
                    return new Jar(
                            absolute, content.length, modified, HexFormat.of().formatHex(digest.digest(content)));
                } catch (IOException e) {
                    throw new UncheckedIOException(
                            "Can't read the agent's jar " + path + ": build it with mvn package", e);
                } catch (NoSuchAlgorithmException e) {
                    throw new IllegalStateException("Every JDK has SHA-256", e);
                }
            });
        }
    }

    private final Jar jar;
    private final @Nullable String java;
    private final Map<String, String> environment;

    private Bootstrap(Jar jar, @Nullable String java, Map<String, String> environment) {
        this.jar = jar;
        this.java = java;
        this.environment = environment;
    }

    static Bootstrap of(Path jar) {
        return of(jar, null, Map.of());
    }

    /** Takes the jar, and the java and environment for the agent; null lets the node search for a java. */
    static Bootstrap of(Path jar, @Nullable String java, Map<String, String> environment) {
        // The script quotes the values only.
        environment.keySet().stream()
                .filter(name -> !VARIABLE.matcher(name).matches())
                .findFirst()
                .ifPresent(name -> {
                    throw new IllegalArgumentException("'" + name + "' is not a valid variable name for a node's"
                            + " agent: use letters, digits and _; the first character must not be a digit");
                });
        return new Bootstrap(Jar.of(jar), java, Map.copyOf(environment));
    }

    Jar jar() {
        return jar;
    }

    static List<String> command(List<String> launch) {
        List<String> command = new ArrayList<>(launch);
        command.add("sh");
        return command;
    }

    byte[] script() {
        String script = NodeJava.finder() + NodeJava.resource("bootstrap.sh");
        String exports = environment.entrySet().stream()
                .map(variable -> "export " + variable.getKey() + "=" + PosixShell.quote(variable.getValue()) + "\n")
                .collect(Collectors.joining());
        Map<String, String> values = Map.of(
                "NAMED", PosixShell.quote(java == null ? "" : java),
                "VERSION", Integer.toString(NodeJava.LEAST_VERSION),
                "JAR", PosixShell.quote(jar.path.toString()),
                "SHA256", jar.sha256,
                "LENGTH", Long.toString(jar.length),
                "SEND", SEND,
                "NO_JAVA", Integer.toString(NO_JAVA),
                "OLD_JAVA", Integer.toString(OLD_JAVA),
                "NO_SPACE", Integer.toString(NO_SPACE));
        for (Map.Entry<String, String> value : values.entrySet()) {
            script = script.replace("@" + value.getKey() + "@", value.getValue());
        }
        return (exports + script).getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Returns whether a line belongs to the script. Then the launch command has a terminal, which echoes its input, or
     * it does not run the words that follow it.
     */
    static boolean isEcho(String line) {
        return line.strip().endsWith(SCRIPT_LINE);
    }

    /**
     * Sends the jar if a line asks for it.
     *
     * @return the text before the request, for example a shell's prompt; may be empty
     */
    String answer(String line, OutputStream out) throws IOException {
        if (!line.endsWith(SEND)) {
            return line;
        }
        try (InputStream in = Files.newInputStream(jar.path)) {
            in.transferTo(out);
        }
        out.flush();
        return line.substring(0, line.length() - SEND.length());
    }

    /** Explains an exit status of the script; returns an empty text for others. */
    String explain(int status) {
        return switch (status) {
            case NO_JAVA -> ": the node has no java";
            case OLD_JAVA -> ": the node's java is too old";
            case NO_SPACE -> ": the node has no space for the agent's jar";
            case NO_COMMAND -> ": command not found";
            default -> "";
        };
    }
}
