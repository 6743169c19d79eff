package io.rdmatest.dist;

import io.rdmatest.scenarios.cli.Rdmatest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.codegen.docgen.manpage.ManPageGenerator;

/** Writes what a shell and man(1) know about the commands, from the commands themselves. */
final class Manual {

    private Manual() {}

    /**
     * Writes a manual page in AsciiDoc for each command, the completion for bash, and the text of {@code --help}.
     *
     * @param args the folder of the pages, the file of the completion, and that of the text
     */
    public static void main(String[] args) throws IOException {
        Path pages = Path.of(args[0]);
        CommandLine line = Rdmatest.commandLine().setCommandName("rdmatest");
        int status =
                ManPageGenerator.generateManPage(pages.toFile(), null, new boolean[0], true, line.getCommandSpec());
        if (status != 0) {
            throw new IOException("no manual pages in " + pages + ": picocli ended with " + status);
        }
        try (Stream<Path> files = Files.list(pages)) {
            for (Path page : files.toList()) {
                Files.writeString(page, installed(Files.readString(page)));
            }
        }
        Files.writeString(Path.of(args[1]), AutoComplete.bash("rdmatest", line));
        Files.writeString(Path.of(args[2]), installed(line.getUsageMessage(Ansi.OFF)));
    }

    /** Calls the commands of a clone by their names on the PATH. */
    private static String installed(String page) {
        String named = page;
        for (List<String> name : List.of(List.of("./rdmatest", "rdmatest"), List.of("./qualify", "rdmatest qualify"))) {
            named = named.replace(name.getFirst(), name.getLast());
        }
        return named;
    }
}
