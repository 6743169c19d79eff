package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Cause;
import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.command.CommandContext;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.command.ProgramCommand;
import io.rdmatest.scenarios.command.ReportingCommand;
import io.rdmatest.scenarios.command.Verdicts;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

class RdmatestTests {

    static final class EchoOptions extends Options<EchoOptions> {

        @Option(names = {"-S", "--size"})
        private int size = 64;

        @Option(names = {"-C", "--count"})
        private int count = 10;

        @Option(names = {"-V", "--verify"})
        private boolean verify;

        @Override
        protected void check() {
            if (size < 1) {
                throw new IllegalArgumentException("-S " + size + " is out of range: allowed are 1 and more");
            }
        }
    }

    @Command(name = "echo", description = "Echoes its options.")
    static final class EchoCommand extends ProgramCommand<EchoOptions> {

        private final @Nullable Throwable failure;

        EchoCommand(@Nullable Throwable failure) {
            super(new EchoOptions());
            this.failure = failure;
        }

        @Override
        protected Outcome run(RoleContext context) throws Exception {
            context.checkCancelled();
            if (failure instanceof Error error) {
                throw error;
            }
            if (failure != null) {
                throw (Exception) failure;
            }
            context.tell("7174");
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("size", options.size);
            json.put("count", options.count);
            return new Outcome(
                    List.of("verified: size=" + options.size + " count=" + options.count + " verify=" + options.verify
                            + " timeout=" + options.timeout() + " fault=" + options.fault() + " of " + options.line()),
                    json);
        }
    }

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(@Nullable Throwable failure, boolean cancelled, boolean checkOnly, String... args) {
        return Rdmatest.execute(
                List.of(new EchoCommand(failure)),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                () -> cancelled,
                checkOnly,
                args);
    }

    private int run(String... args) {
        return run(null, false, false, args);
    }

    private JsonNode json() throws Exception {
        return new ObjectMapper().readTree(out.toString());
    }

    @Test
    void aCommandThatDoesItsWorkEndsWith0() {
        assertThat(run("echo", "-S", "100")).isZero();
        assertThat(out.toString())
                .contains("verified: ", "size=100", "count=10", "timeout=PT10S", "fault=NONE")
                .hasLineCount(1);
        assertThat(err.toString()).isEqualTo("listening on port 7174" + System.lineSeparator());
    }

    @Test
    void lettersClusterTakeAttachedValuesAndTheLastOneWins() {
        assertThat(run("echo", "-VS100", "-C5", "-C", "7")).isZero();
        assertThat(out.toString()).contains("size=100", "count=7", "verify=true", "of [-VS100, -C5, -C, 7]");
    }

    @Test
    void everyProgramTakesTheCommonOptions() {
        assertThat(run("echo", "--timeout", "250ms", "--fault=flip-payload-byte", "--size=3"))
                .isZero();
        assertThat(out.toString()).contains("size=3", "timeout=PT0.25S", "fault=FLIP_PAYLOAD_BYTE");
    }

    @Test
    void jsonIsOneObjectOnStandardOutput() throws Exception {
        assertThat(run("echo", "--json")).isZero();
        assertThat(json().fieldNames())
                .toIterable()
                .containsExactly("program", "status", "exit", "message", "size", "count");
        assertThat(json().get("program").asText()).isEqualTo("echo");
        assertThat(json().get("status").asText()).isEqualTo("verified");
        assertThat(json().get("exit").asInt()).isZero();
        assertThat(json().get("size").asInt()).isEqualTo(64);
    }

    @Test
    void aFailureHasItsStatusAndOneSentence() throws Exception {
        ScenarioException absent = new ScenarioException(Cause.PEER_ABSENT, "nobody listens at 10.0.0.1:7174");
        assertThat(run(absent, false, false, "echo", "--json")).isEqualTo(4);
        assertThat(err.toString())
                .isEqualTo("./rdmatest echo: peer absent: nobody listens at 10.0.0.1:7174" + System.lineSeparator());
        assertThat(json().get("status").asText()).isEqualTo("peer absent");
        assertThat(json().get("exit").asInt()).isEqualTo(4);
        assertThat(json().get("message").asText()).isEqualTo("nobody listens at 10.0.0.1:7174");
    }

    @Test
    void aDefectShowsWhereItIs() {
        assertThat(run(new IllegalStateException("half done"), false, false, "echo"))
                .isEqualTo(70);
        assertThat(err.toString()).contains("half done", "\tat ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "echo -S 0",
                "echo -S x",
                "echo -Z",
                "echo surplus",
                "echo --timeout 0s",
                "echo --fault burn",
                "ehco",
                ""
            })
    void wrongUsageEndsWith2AndNamesTheWayOut(String line) {
        assertThat(run(line.isEmpty() ? new String[0] : line.split(" "))).isEqualTo(2);
        assertThat(err.toString()).contains("--help").hasLineCount(1);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void aCommandThatDoesNotExistIsCalledOne() {
        assertThat(run("nope")).isEqualTo(2);
        assertThat(err.toString())
                .isEqualTo("./rdmatest: usage: there is no command 'nope'; ./rdmatest --help lists the commands"
                        + System.lineSeparator());
    }

    @Test
    void aPartOfACommandThatDoesNotExistIsCalledACommand() {
        assertThat(Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), "fabric", "nope"))
                .isEqualTo(2);
        assertThat(err.toString())
                .isEqualTo("./rdmatest fabric: usage: there is no command 'nope';"
                        + " ./rdmatest fabric --help lists the commands" + System.lineSeparator());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "rxe0/", "rxe0/x", "rxe0/0", "rxe0/-1", "rxe0/256", "rxe0/99999999999", "a/b/c", "a b"})
    void aDeviceThatCanBeNoneIsWrongUsage(String device) {
        assertThat(run(null, false, true, "echo", "--device", device)).isEqualTo(2);
        assertThat(err.toString()).contains("'--device'", "1 … 255").hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rxe0", "mlx5_0/1", "rocep1s0f0/255", "auto"})
    void aDeviceIsANameAndAPort(String device) {
        assertThat(run(null, false, true, "echo", "--device", device)).isEqualTo(ReportingCommand.OPTIONS_ARE_RIGHT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "256", "x", ""})
    void anIndexThatNoGidTableHasIsWrongUsage(String index) {
        assertThat(run(null, false, true, "echo", "--gid-index", index)).isEqualTo(2);
        assertThat(err.toString()).contains("'--gid-index'", "0 to 255").hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "255"})
    void everyIndexOfAGidTableIsTaken(String index) {
        assertThat(run(null, false, true, "echo", "--gid-index", index)).isEqualTo(ReportingCommand.OPTIONS_ARE_RIGHT);
    }

    @Test
    void wrongUsageIsAnObjectTooWhereOneIsAskedFor() throws Exception {
        assertThat(run("echo", "-S", "0", "--json")).isEqualTo(2);
        assertThat(json().get("status").asText()).isEqualTo("usage");
        assertThat(json().get("message").asText()).contains("-S 0 is out of range");
    }

    @Test
    void onlyCheckingRunsNothing() {
        IllegalStateException notToBeThrown = new IllegalStateException();
        assertThat(run(notToBeThrown, false, true, "echo")).isEqualTo(ReportingCommand.OPTIONS_ARE_RIGHT);
        assertThat(run(notToBeThrown, false, true, "echo", "-S", "0")).isEqualTo(2);
        assertThat(run(notToBeThrown, false, true, "echo", "--help")).isZero();
        assertThat(run(notToBeThrown, false, true, "--version")).isZero();
    }

    @Test
    void anInterruptionEndsWith130() {
        assertThat(run(null, true, false, "echo")).isEqualTo(130);
        assertThat(err.toString()).contains("interrupted");
        assertThat(Verdicts.of(cancellation()).status()).isEqualTo(ExitStatus.INTERRUPTED);
    }

    private static RoleCancelledException cancellation() {
        RoleContext cancelled = new CommandContext(new EchoOptions(), new PrintWriter(new StringWriter()), () -> true);
        try {
            cancelled.checkCancelled();
        } catch (RoleCancelledException e) {
            return e;
        }
        throw new AssertionError("not cancelled");
    }

    @Test
    void helpListsOptionsAndStatuses() {
        assertThat(run("help", "echo")).isZero();
        assertThat(out.toString())
                .contains("-S, --size", "--gid-index", "In every program:", "Exit status:", "peer absent", "130");
    }

    /** Where a reader is gone or a disk is full. */
    private static PrintWriter broken() {
        return new PrintWriter(new Writer() {
            @Override
            public void write(char[] text, int offset, int length) throws IOException {
                throw new IOException("Broken pipe");
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"echo", "echo --json"})
    void aResultThatCannotBeWrittenIsNone(String line) {
        int status = Rdmatest.execute(
                List.of(new EchoCommand(null)),
                broken(),
                new PrintWriter(err, true),
                () -> false,
                false,
                line.split(" "));
        assertThat(status).isEqualTo(3);
        assertThat(err.toString()).contains("./rdmatest echo: host not ready: standard output can't be written");
    }

    @Test
    void aFailureThatCannotBeWrittenKeepsItsStatus() {
        int status = Rdmatest.execute(
                List.of(new EchoCommand(new ScenarioException(Cause.PEER_LOST, "gone"))),
                broken(),
                new PrintWriter(err, true),
                () -> false,
                false,
                "echo",
                "--json");
        assertThat(status).isEqualTo(8);
        assertThat(err.toString()).contains("peer lost: gone");
    }

    /** Prints until it is cancelled. */
    @Command(name = "chat")
    static final class ChatCommand extends ProgramCommand<EchoOptions> {

        @Option(names = "--report")
        private boolean report;

        ChatCommand() {
            super(new EchoOptions());
        }

        @Override
        protected Outcome run(RoleContext context) {
            for (int i = 0; i < 100; i++) {
                printNow("line " + i);
                if (report && context.isCancelled()) {
                    return new Outcome(List.of("said " + i), Map.of());
                }
                context.checkCancelled();
            }
            throw new AssertionError("it goes on although nobody listens");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"chat", "chat --report"})
    void aCommandEndsWhenNobodyTakesWhatItPrints(String line) {
        int status = Rdmatest.execute(
                List.of(new ChatCommand()), broken(), new PrintWriter(err, true), () -> false, false, line.split(" "));
        assertThat(status).as(err.toString()).isEqualTo(3);
        assertThat(err.toString()).contains("standard output can't be written").hasLineCount(1);
    }

    /** Only the command that is called is put together then. */
    @Test
    void eachCommandIsFoundByTheWordThatCallsIt() {
        List<String> names = Rdmatest.commandLine().getSubcommands().keySet().stream()
                .filter(name -> !name.equals("help"))
                .toList();
        assertThat(names)
                .contains("qualify", "rping", "stream", "fabric", "compare", "wire", "culprits")
                .hasSize(12);
        assertThat(names).allSatisfy(name -> {
            StringWriter usage = new StringWriter();
            int status =
                    Rdmatest.execute(new PrintWriter(usage, true), new PrintWriter(new StringWriter()), name, "--help");
            assertThat(status).isZero();
            assertThat(usage.toString()).startsWith("Usage: ./rdmatest " + name + " ");
        });
    }
}
