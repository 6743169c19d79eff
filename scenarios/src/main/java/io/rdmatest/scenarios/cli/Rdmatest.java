package io.rdmatest.scenarios.cli;

import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.command.Printer;
import io.rdmatest.scenarios.command.ReportingCommand;
import io.rdmatest.scenarios.mckey.MckeyCommand;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.qualify.Qualify;
import io.rdmatest.scenarios.rping.RpingCommand;
import io.rdmatest.scenarios.rstream.RstreamCommand;
import io.rdmatest.scenarios.stream.StreamCommand;
import io.rdmatest.scenarios.ucmatose.UcmatoseCommand;
import io.rdmatest.scenarios.udaddy.UdaddyCommand;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command {@code ./rdmatest}: a qualification, one side of rping, ucmatose, mckey and others, the devices and fabrics,
 * the differences from earlier qualifications, the packets of captures, and the causes of bad pairs.
 */
@Command(
        name = "./rdmatest",
        mixinStandardHelpOptions = true,
        version = "rdmatest 0.1.0",
        sortOptions = false,
        synopsisSubcommandLabel = "<command>",
        subcommands = HelpCommand.class,
        description = {
            "Qualifies an RDMA fabric, or runs one side of an RDMA program, against the other side by the C program of the same"
                    + " name or by rdmatest.",
            "On a host without RDMA hardware it runs on soft-RoCE in a virtual machine."
        },
        commandListHeading = "%nCommands:%n",
        footer = {"", "./rdmatest help <command> lists the options of a command."})
public final class Rdmatest implements Callable<Integer> {

    /** Checks the options only: the script does so before it boots a machine. */
    private static final String CHECK = "rdmatest.check";

    /** How long an interrupted command may take to release what it holds. */
    private static final long GRACE_SECONDS = 15;

    /** The commands by the words that call them, in the order in which the help lists them. */
    private static final Map<String, Supplier<? extends ReportingCommand>> COMMANDS = commands();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    private Rdmatest() {}

    private static Map<String, Supplier<? extends ReportingCommand>> commands() {
        Map<String, Supplier<? extends ReportingCommand>> commands = new LinkedHashMap<>();
        commands.put("rping", RpingCommand::new);
        commands.put("ucmatose", UcmatoseCommand::new);
        commands.put("udaddy", UdaddyCommand::new);
        commands.put("mckey", MckeyCommand::new);
        commands.put("rstream", RstreamCommand::new);
        commands.put("stream", StreamCommand::new);
        commands.put("devices", DevicesCommand::new);
        commands.put("fabric check", FabricCheckCommand::new);
        commands.put("fabric leaves", FabricLeavesCommand::new);
        commands.put("compare", CompareCommand::new);
        commands.put("wire", WireCommand::new);
        commands.put("culprits", CulpritsCommand::new);
        return commands;
    }

    /**
     * Runs a command and ends the JVM with its status.
     *
     * @param args see {@code --help}
     */
    public static void main(String[] args) {
        AtomicBoolean interrupted = new AtomicBoolean();
        AtomicInteger ended = new AtomicInteger(ExitStatus.INTERRUPTED.code());
        CountDownLatch done = new CountDownLatch(1);
        Thread onSignal = new Thread(() -> endInterrupted(interrupted, done, ended), "rdmatest-interrupted");
        Runtime.getRuntime().addShutdownHook(onSignal);
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        int status;
        try {
            status = execute(out, err, interrupted::get, Boolean.getBoolean(CHECK), args);
            // An endless server keeps the status of its failed clients; other commands end as interrupted.
            ended.set(status);
        } catch (Throwable e) {
            status = new Printer("", false, out, err).failure(e, false).code();
        } finally {
            done.countDown();
        }
        if (!interrupted.get()) {
            try {
                Runtime.getRuntime().removeShutdownHook(onSignal);
            } catch (IllegalStateException e) {
                // A signal arrived just now: the hook ends the JVM.
            }
        }
        System.exit(ExitStatus.ofJvm(status));
    }

    /** Lets the command stop by itself, release what it holds, and report how far it came. */
    private static void endInterrupted(AtomicBoolean interrupted, CountDownLatch done, AtomicInteger ended) {
        interrupted.set(true);
        try {
            if (!done.await(GRACE_SECONDS, TimeUnit.SECONDS)) {
                System.err.println("./rdmatest: the command did not stop within " + GRACE_SECONDS
                        + " s of the signal; the kernel releases what it held");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(ExitStatus.ofJvm(ended.get()));
    }

    /**
     * Runs a command within this JVM.
     *
     * @param out takes the result
     * @param err takes errors, and messages on the way
     * @param args the command and its options
     * @return the exit status, see {@link ExitStatus}
     */
    public static int execute(PrintWriter out, PrintWriter err, String... args) {
        return execute(out, err, () -> false, false, args);
    }

    static int execute(PrintWriter out, PrintWriter err, BooleanSupplier cancelled, boolean checkOnly, String... args) {
        // picocli's command help takes one word only.
        List<String> words = List.of(args).subList(Math.min(1, args.length), args.length);
        if (words.size() > 1 && args[0].equals("help") && COMMANDS.containsKey(String.join(" ", words))) {
            return execute(
                    out,
                    err,
                    cancelled,
                    checkOnly,
                    Stream.concat(words.stream(), Stream.of("--help")).toArray(String[]::new));
        }
        // Reading the options of all commands takes a tenth of the time of a short one, in emulation half a second.
        List<ReportingCommand> called = args.length == 0 ? List.of() : called(args[0]);
        return execute(called.isEmpty() ? all() : called, out, err, cancelled, checkOnly, args);
    }

    /** Returns the commands that a first word calls: several only if these have a second one. */
    private static List<ReportingCommand> called(String word) {
        return COMMANDS.entrySet().stream()
                .filter(each -> each.getKey().equals(word) || each.getKey().startsWith(word + " "))
                .<ReportingCommand>map(each -> each.getValue().get())
                .toList();
    }

    static int execute(
            List<? extends ReportingCommand> commands,
            PrintWriter out,
            PrintWriter err,
            BooleanSupplier cancelled,
            boolean checkOnly,
            String... args) {
        CommandLine line = commandLine(commands);
        commands.forEach(command -> command.prepare(cancelled, checkOnly));
        return line.setOut(out).setErr(err).execute(args);
    }

    /** Puts the commands together. With all of them comes qualify, which the script runs by its own main class. */
    static CommandLine commandLine(List<? extends ReportingCommand> commands) {
        CommandLine line = new CommandLine(new Rdmatest());
        if (commands.size() == COMMANDS.size()) {
            line.addSubcommand(new CommandLine(new Qualify()).setCommandName("qualify"));
        }
        for (ReportingCommand command : commands) {
            command.group().map(group -> group(line, group)).orElse(line).addSubcommand(command);
        }
        return configure(line);
    }

    /** Returns the parent of a command, and creates it for the first one. */
    private static CommandLine group(CommandLine line, Object group) {
        CommandLine made = new CommandLine(group);
        CommandLine there = line.getSubcommands().get(made.getCommandName());
        if (there != null) {
            return there;
        }
        line.addSubcommand(made);
        return made;
    }

    /** Returns the commands with their options, for what documents them. */
    public static CommandLine commandLine() {
        return commandLine(all());
    }

    private static List<ReportingCommand> all() {
        return COMMANDS.values().stream().<ReportingCommand>map(Supplier::get).toList();
    }

    private static CommandLine configure(CommandLine line) {
        Map<String, String> statuses = new LinkedHashMap<>();
        Arrays.stream(ExitStatus.values()).forEach(s -> statuses.put(String.valueOf(s.code()), s.meaning()));
        for (CommandLine each : line.getSubcommands().values()) {
            if (each.getCommand() instanceof Qualify) {
                continue;
            }
            each.getCommandSpec().usageMessage().exitCodeListHeading("%nExit status:%n");
            each.getCommandSpec().usageMessage().exitCodeList(statuses);
            each.getSubcommands().values().forEach(part -> {
                part.getCommandSpec().usageMessage().exitCodeListHeading("%nExit status:%n");
                part.getCommandSpec().usageMessage().exitCodeList(statuses);
            });
        }
        return Options.getopt(line)
                .setParameterExceptionHandler(Rdmatest::wrongUsage)
                .setExecutionExceptionHandler((e, command, parsed) -> new Printer(
                                ReportingCommand.name(command), false, command.getOut(), command.getErr())
                        .failure(e, false)
                        .code());
    }

    private static int wrongUsage(ParameterException e, String[] args) {
        CommandLine line = e.getCommandLine();
        // picocli may not have parsed this option yet.
        boolean json = Arrays.asList(args).contains("--json");
        String name = ReportingCommand.name(line);
        String help = "; ./rdmatest " + (name.isEmpty() ? "" : name + " ") + "--help lists the ";
        new Printer(name, json, line.getOut(), line.getErr())
                .complain(
                        ExitStatus.USAGE,
                        unknownCommand(e)
                                .map(word -> "there is no command '" + word + "'" + help + "commands")
                                .orElseGet(() -> e.getMessage() + help + "options"));
        return ExitStatus.USAGE.code();
    }

    /** Returns the word in the place of a command, which picocli calls an unmatched argument. */
    private static Optional<String> unknownCommand(ParameterException e) {
        return e instanceof UnmatchedArgumentException unmatched
                        && !unmatched.isUnknownOption()
                        && !e.getCommandLine().getSubcommands().isEmpty()
                ? unmatched.getUnmatched().stream().findFirst()
                : Optional.empty();
    }

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "no command given");
    }
}
