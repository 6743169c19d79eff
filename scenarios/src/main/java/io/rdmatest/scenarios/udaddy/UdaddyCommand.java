package io.rdmatest.scenarios.udaddy;

import io.rdmatest.scenarios.command.ConnectionCommand;
import io.rdmatest.scenarios.role.Role;
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
public final class UdaddyCommand extends ConnectionCommand<UdaddyOptions, UdaddyRoles.Result> {

    public UdaddyCommand() {
        super(new UdaddyOptions(), "--port", "paths");
    }

    @Override
    protected Role<UdaddyRoles.Result> client(UdaddyOptions options) {
        return new UdaddyRoles.Client(options);
    }

    @Override
    protected Role<UdaddyRoles.Result> server(UdaddyOptions options) {
        return new UdaddyRoles.Server(options);
    }

    @Override
    protected String withoutMessages(int count) {
        return count + " paths found";
    }

    @Override
    protected void addTo(Map<String, Object> json, UdaddyRoles.Result result) {
        json.put("reordered", result.reordered());
    }
}
