package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
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
final class UcmatoseCommand extends ConnectionCommand<UcmatoseOptions, UcmatoseRoles.Result> {

    UcmatoseCommand() {
        super(UcmatoseOptions.defaults(), "-p", "connections");
    }

    @Override
    Role<UcmatoseRoles.Result> client(UcmatoseOptions options) {
        return new UcmatoseRoles.Client(options);
    }

    @Override
    Role<UcmatoseRoles.Result> server(UcmatoseOptions options) {
        return new UcmatoseRoles.Server(options);
    }

    @Override
    String withoutMessages(int count) {
        return count + " connections established and closed";
    }

    @Override
    void addTo(Map<String, Object> json, UcmatoseRoles.Result result) {
        json.put("tearDownMs", result.tearDownNanos() / 1e6);
    }
}
