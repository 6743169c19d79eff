package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.util.Map;
import picocli.CommandLine.Command;

/** One side of udaddy(1). */
@Command(
        name = "udaddy",
        sortOptions = false,
        description = {
            "Looks queue pairs up by service id and sends datagrams both ways.",
            "The other side may be the C program; between two of ours, every byte is compared."
        })
final class UdaddyCommand extends ConnectionCommand<UdaddyOptions, UdaddyRoles.Result> {

    UdaddyCommand() {
        super(UdaddyOptions.defaults(), "--port", "paths");
    }

    @Override
    Role<UdaddyRoles.Result> client(UdaddyOptions options) {
        return new UdaddyRoles.Client(options);
    }

    @Override
    Role<UdaddyRoles.Result> server(UdaddyOptions options) {
        return new UdaddyRoles.Server(options);
    }

    @Override
    String withoutMessages(int count) {
        return count + " paths found";
    }

    @Override
    void addTo(Map<String, Object> json, UdaddyRoles.Result result) {
        json.put("reordered", result.reordered());
    }
}
