package io.rdmatest.scenarios.command;

import picocli.CommandLine.Option;

/** A command that prints text, or with {@code --json} one JSON object. */
public abstract class JsonCommand extends ReportingCommand {

    @Option(names = "--json", description = "Print one JSON object instead of text.")
    private boolean json;

    @Override
    protected final boolean json() {
        return json;
    }
}
