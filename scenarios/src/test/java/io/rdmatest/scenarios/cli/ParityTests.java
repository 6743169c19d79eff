package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.SkipReason;
import io.rdmatest.scenarios.options.Options;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Holds the parity table of the docs against the man pages, the command line and the tests. */
class ParityTests {

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final Path MAN = Path.of("/usr/share/man/man1");

    /** An option begins its line in the man pages: {@code \-S message_size}. */
    private static final Pattern MAN_OPTION = Pattern.compile("(?m)^\\\\-(\\w)\\b");

    /** What rstream's -T takes: {@code a | async - uses ...}. */
    private static final Pattern MAN_VALUE = Pattern.compile("(?m)^(\\w) \\| \\w+ - ");

    private static final Pattern CODE = Pattern.compile("`([^`]+)`");

    /** One line of a table: its cells' code, column by column. */
    private record Row(String program, List<List<String>> cells) {

        List<String> cell(int column) {
            return cells.get(column);
        }

        @Override
        public String toString() {
            return program + " " + cells.getFirst();
        }
    }

    private final Map<String, List<Row>> table = read();

    private static Map<String, List<Row>> read() {
        Map<String, List<Row>> rows = new LinkedHashMap<>();
        String program = "";
        try {
            for (String line : Files.readAllLines(ROOT.resolve("docs/parity.md"))) {
                Matcher heading = Pattern.compile("## (\\w+)\\(\\d\\)").matcher(line);
                if (heading.matches()) {
                    program = heading.group(1);
                    rows.put(program, new ArrayList<>());
                } else if (line.startsWith("| ") && line.contains("#")) {
                    List<List<String>> cells = Arrays.stream(
                                    line.substring(1, line.length() - 1).split("\\|"))
                            .map(cell -> CODE.matcher(cell)
                                    .results()
                                    .map(found -> found.group(1))
                                    .toList())
                            .toList();
                    rows.get(program).add(new Row(program, cells));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return rows;
    }

    /** The programs that have man pages with options. */
    static List<String> programs() {
        return List.of("rping", "ucmatose", "udaddy", "mckey", "rstream");
    }

    private static CommandLine command(String program) {
        CommandLine command = Rdmatest.commandLine().getSubcommands().get(program);
        assertThat(command).as("./rdmatest " + program).isNotNull();
        return command;
    }

    private static CommandLine.ParseResult parse(String program, String... words) {
        String[] line = Stream.concat(Stream.of(program), Stream.of(words)).toArray(String[]::new);
        return Rdmatest.commandLine().parseArgs(line).subcommand();
    }

    @Test
    void everyProgramHasItsTable() {
        assertThat(table.keySet()).containsExactly("rping", "ucmatose", "udaddy", "mckey", "rstream", "fi_rstream");
    }

    @ParameterizedTest
    @MethodSource("programs")
    void everyOptionOfTheManPageIsInTheTable(String program) throws IOException {
        String page = manPage(program).orElseGet(() -> {
            assumeTrue(
                    false,
                    SkipReason.PEER_ABSENT.because("the man page " + program + "(1) is not installed in " + MAN));
            return "";
        });
        List<String> options = new ArrayList<>();
        MAN_OPTION.matcher(page).results().forEach(found -> options.add("-" + found.group(1)));
        MAN_VALUE.matcher(page).results().forEach(found -> options.add("-T " + found.group(1)));
        if (MAN_VALUE.matcher(page).find()) {
            options.remove("-T");
        }
        // A page in which nothing is found is not understood.
        assertThat(options).hasSizeGreaterThan(5);
        assertThat(listed(program)).containsAll(options);
    }

    private static Optional<String> manPage(String program) throws IOException {
        Path packed = MAN.resolve(program + ".1.gz");
        Path plain = MAN.resolve(program + ".1");
        if (Files.exists(packed)) {
            try (InputStream content = new GZIPInputStream(Files.newInputStream(packed))) {
                return Optional.of(new String(content.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return Files.exists(plain) ? Optional.of(Files.readString(plain)) : Optional.empty();
    }

    private List<String> listed(String program) {
        return table.get(program).stream().map(row -> row.cell(0).getFirst()).toList();
    }

    @ParameterizedTest
    @MethodSource("programs")
    void everyLetterOfTheCommandIsInTheTable(String program) {
        List<String> letters = command(program).getCommandSpec().options().stream()
                .flatMap(option -> Arrays.stream(option.names()))
                .filter(name -> !name.startsWith("--") && !name.equals("-h"))
                .toList();
        assertThat(letters).isNotEmpty();
        assertThat(listed(program).stream().map(option -> option.split(" ")[0])).containsAll(letters);
    }

    @ParameterizedTest
    @MethodSource("programs")
    void theCommandTakesWhatTheTableSays(String program) {
        for (Row row : table.get(program)) {
            String[] letter = row.cell(0).getFirst().split(" ");
            String[] name = row.cell(1).getFirst().split(" ");
            OptionSpec option = command(program).getCommandSpec().findOption(letter[0]);
            assertThat(option).as(row + ": ./rdmatest takes no such option").isNotNull();
            assertThat(option.names()).as(row.toString()).contains(letter[0], name[0]);
            if (letter.length == 2) {
                assertThat(parse(program, letter).hasMatchedOption(letter[0])).isTrue();
                assertThat(parse(program, name).hasMatchedOption(name[0])).isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("programs")
    void theLinesForAnnotatedTestsAreRight(String program) {
        for (Row row : table.get(program)) {
            assertThat(row.cell(3)).as(row.toString()).hasSize(1);
            String line = row.cell(3).getFirst();
            if (line.startsWith("-")) {
                String letter = row.cell(0).getFirst().split(" ")[0];
                assertThat(line).as(row.toString()).contains(letter);
                CommandLine.ParseResult parsed = parse(program, line.split(" "));
                assertThatCode(() -> options(parsed.commandSpec()).complete(List.of(line.split(" "))))
                        .as(row.toString())
                        .doesNotThrowAnyException();
            } else {
                // A side is no option of a test: it is a role.
                String[] role = line.split("\\.");
                assertThat(source(role[0]))
                        .as(row + ": " + line)
                        .containsPattern("\\b(class|record) " + role[1] + "\\b");
            }
        }
    }

    private static Options<?> options(CommandSpec command) {
        return command.mixins().values().stream()
                .map(CommandSpec::userObject)
                .filter(Options.class::isInstance)
                .<Options<?>>map(mixin -> (Options<?>) mixin)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void theStreamCommandTakesWhatTheTableSays() {
        CommandSpec command = command("stream").getCommandSpec();
        for (Row row : table.get("fi_rstream")) {
            for (String option : row.cell(2)) {
                assertThat(command.findOption(option)).as(row + " " + option).isNotNull();
            }
            for (String api : row.cell(1)) {
                String[] parts = api.split("\\.");
                assertThat(source(parts[0])).as(row + " " + api).contains(parts[parts.length - 1]);
            }
        }
    }

    @Test
    void everyTestIsThere() {
        for (String program : table.keySet()) {
            assertThat(table.get(program)).as(program).isNotEmpty();
            for (Row row : table.get(program)) {
                List<String> tests = row.cells().getLast();
                assertThat(tests).as(row.toString()).isNotEmpty();
                for (String test : tests) {
                    String[] parts = test.split("#");
                    assertThat(parts).as(row + ": " + test).hasSize(2);
                    assertThat(isTest(source(parts[0]), parts[1]))
                            .as(row + ": " + test + " is no test")
                            .isTrue();
                }
            }
        }
    }

    private static boolean isTest(String source, String method) {
        Matcher declaration = Pattern.compile("void " + method + "\\(").matcher(source);
        while (declaration.find()) {
            // Its annotations stand between the end of what is before it and its name.
            String before = source.substring(0, declaration.start());
            int end = Math.max(before.lastIndexOf("    }\n"), before.lastIndexOf(";\n"));
            if (Pattern.compile("@(Test|ParameterizedTest|RdmaTest|RepeatedTest)\\b")
                    .matcher(before.substring(Math.max(0, end)))
                    .find()) {
                return true;
            }
        }
        return false;
    }

    /** The tests of other modules are not on this class path; their sources are there. */
    private static String source(String type) {
        List<Path> found = new ArrayList<>();
        for (String module : List.of("harness-core", "junit-extension", "scenarios", "reports")) {
            for (String folder : List.of("src/main/java", "src/test/java")) {
                Path sources = ROOT.resolve(module).resolve(folder);
                if (Files.isDirectory(sources)) {
                    try (Stream<Path> files = Files.walk(sources)) {
                        files.filter(file -> file.getFileName().toString().equals(type + ".java"))
                                .forEach(found::add);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
            }
        }
        assertThat(found).as("the source of " + type).isNotEmpty();
        return found.stream()
                .map(file -> {
                    try {
                        return Files.readString(file);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .reduce("", String::concat);
    }
}
