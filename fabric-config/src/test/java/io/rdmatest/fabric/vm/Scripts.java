package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Starts the scripts of {@code rdma-jdk/bin} as a user would, with a deadline and all output kept. */
final class Scripts {

    static final Path HOME = Path.of("rdma-jdk").toAbsolutePath();

    record Result(int status, byte[] out, byte[] errors) {
        String err() {
            return new String(errors, StandardCharsets.UTF_8);
        }

        String text() {
            return new String(out, StandardCharsets.UTF_8);
        }
    }

    private final Path work;
    private final Map<String, String> environment = new HashMap<>();
    private byte[] input = {};
    private int calls;

    Scripts(Path work) {
        this.work = work;
    }

    Scripts with(String name, String value) {
        environment.put(name, value);
        return this;
    }

    Scripts input(byte[] bytes) {
        input = bytes.clone();
        return this;
    }

    Result inVm(String... command) throws Exception {
        List<String> all = new ArrayList<>(List.of("in-vm", "--"));
        all.addAll(List.of(command));
        return run(all.toArray(String[]::new));
    }

    /** Runs a script, waits for its end (at most three minutes) and returns all it gave. */
    Result run(String... scriptAndArguments) throws Exception {
        int call = ++calls;
        Path in = Files.write(work.resolve("in" + call), input);
        Path out = work.resolve("out" + call);
        Path err = work.resolve("err" + call);
        Process process = builder(scriptAndArguments)
                .redirectInput(in.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        if (!process.waitFor(3, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new AssertionError("did not end: " + List.of(scriptAndArguments) + "\n" + Files.readString(err));
        }
        return new Result(process.exitValue(), Files.readAllBytes(out), Files.readAllBytes(err));
    }

    /** Starts a script whose streams are pipes. */
    Process start(String... scriptAndArguments) throws IOException {
        return builder(scriptAndArguments)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    private ProcessBuilder builder(String... scriptAndArguments) {
        // A build that runs in the background of a shell ignores SIGINT, and what it starts would too.
        List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT,TERM"));
        command.addAll(List.of(scriptAndArguments));
        command.set(2, HOME.resolve("bin").resolve(scriptAndArguments[0]).toString());
        ProcessBuilder builder = new ProcessBuilder(command).directory(work.toFile());
        // The tests name the machine's device.
        builder.environment().remove("RDMA_VM_DEVICE");
        builder.environment().putAll(environment);
        return builder;
    }

    /**
     * Runs a program in Perl that uses the modules of the scripts, on this host.
     *
     * @param folder where what it says is kept
     * @return what it said
     */
    static String perl(Path folder, String program) throws IOException, InterruptedException {
        Path said = folder.resolve("said");
        Process process = new ProcessBuilder("perl", "-I" + HOME.resolve("lib"), "-e", program)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).as("ended").isTrue();
        } finally {
            process.destroyForcibly();
        }
        return Files.readString(said);
    }
}
