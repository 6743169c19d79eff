package io.rdmatest.peer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.rdmatest.RdmaException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An agent whose roles do what a test of the channel needs. */
final class TestAgent implements Agent.Runner {

    private static final Duration LONG = Duration.ofMinutes(1);
    private static final int OUT_OF_MEMORY = 12;

    /** A role that has ended, for those that speak for it. */
    private volatile Agent.@Nullable Task late;

    private TestAgent() {}

    public static void main(String[] arguments) {
        Agent.main(PeerSettings.ofAgent().withGrace(Duration.ofSeconds(2)), new TestAgent());
    }

    /** Returns the command that starts this agent, with the JDK and the class path of this JVM. */
    static List<String> command() {
        return java(TestAgent.class.getName());
    }

    static List<String> java(String main) {
        return List.of(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "-cp",
                System.getProperty("java.class.path"),
                main);
    }

    @Override
    public JsonNode run(Agent.Task task) throws Exception {
        int count = task.parameters().path("count").asInt();
        switch (task.kind()) {
            case "echo" -> {
                for (int i = 0; i < count; i++) {
                    task.tell(task.hear(LONG).orElseThrow());
                }
            }
            case "flood" -> {
                for (int i = 0; i < count; i++) {
                    task.tell(Integer.toString(i));
                }
            }
            case "say" -> {
                task.say(LineKind.PRINTED, "printed");
                task.say(LineKind.TRACED, "traced");
            }
            case "late" -> late = task;
            case "of the late" -> {
                Agent.Task ended = Objects.requireNonNull(late);
                ended.tell("too late");
                ended.say(LineKind.PRINTED, "too late");
            }
            case "big" -> task.tell("x".repeat(count));
            case "wait" -> {
                task.tell("waiting");
                while (!task.isCancelled()) {
                    task.hear(Duration.ofMillis(10));
                }
            }
            case "stubborn" -> {
                task.tell("waiting");
                Object never = new Object();
                synchronized (never) {
                    while (true) {
                        never.wait();
                    }
                }
            }
            case "fail" -> {
                System.err.println("something in the log");
                throw new RdmaException("ibv_reg_mr", "4096 bytes", OUT_OF_MEMORY);
            }
            case "print" -> System.out.println("printed by a library");
            case "garbage" -> {
                OutputStream channel = new FileOutputStream(FileDescriptor.out);
                channel.write("segmentation fault in libfoo\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
                task.hear(LONG);
            }
            case "halt" -> {
                System.err.println("about to go");
                Runtime.getRuntime().halt(count);
            }
            default -> throw new IllegalArgumentException("no role is named " + task.kind());
        }
        return JsonNodeFactory.instance.objectNode().put("name", task.name()).set("place", task.place());
    }

    @Override
    public String diagnose(Agent.Task task, Throwable failure) {
        return "diagnosis of " + task.kind();
    }
}
