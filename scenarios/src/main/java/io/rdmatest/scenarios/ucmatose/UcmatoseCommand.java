package io.rdmatest.scenarios.ucmatose;

import io.rdmatest.scenarios.command.ConnectionCommand;
import io.rdmatest.scenarios.role.Role;
import java.util.Map;
import picocli.CommandLine.Command;

/** One side of ucmatose(1). */
@Command(
        name = "ucmatose",
        sortOptions = false,
        description = {
            "Connects, sends messages both ways, and disconnects: any number of connections at once.",
            "The other side may be the C program; between two of ours, every byte is compared."
        })
public final class UcmatoseCommand extends ConnectionCommand<UcmatoseOptions, UcmatoseRoles.Result> {

    public UcmatoseCommand() {
        super(new UcmatoseOptions(), "-p", "connections");
    }

    @Override
    protected Role<UcmatoseRoles.Result> client(UcmatoseOptions options) {
        return new UcmatoseRoles.Client(options);
    }

    @Override
    protected Role<UcmatoseRoles.Result> server(UcmatoseOptions options) {
        return new UcmatoseRoles.Server(options);
    }

    @Override
    protected String withoutMessages(int count) {
        return count + " connections established and closed";
    }

    @Override
    protected void addTo(Map<String, Object> json, UcmatoseRoles.Result result) {
        json.put("tearDownMs", result.tearDownNanos() / 1e6);
    }
}
