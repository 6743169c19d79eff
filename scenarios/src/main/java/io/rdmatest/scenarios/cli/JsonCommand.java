package io.rdmatest.scenarios.cli;

import picocli.CommandLine.Option;

/** A command that prints text, or with {@code --json} one JSON object. */
abstract class JsonCommand extends ReportingCommand {

    @Option(names = "--json", description = "Print one JSON object instead of text.")
    private boolean json;

    @Override
    final boolean json() {
        return json;
    }
}
