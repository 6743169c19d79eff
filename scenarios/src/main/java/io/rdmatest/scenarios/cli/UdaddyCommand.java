package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** One side of udaddy(1). */
@Command(
        name = "udaddy",
        sortOptions = false,
        description = {
            "Looks queue pairs up by service id and sends datagrams both ways.",
            "The other side may be the C program; between two of ours, every byte is compared."
        })
final class UdaddyCommand extends ProgramCommand {

    @Mixin
    private UdaddyOptions arguments = UdaddyOptions.defaults();

    @Override
    protected void checkCommandLine() {
        if (arguments.serverAddress() != null && arguments.port() == 0) {
            throw new IllegalArgumentException("A client needs the server's port (--port), 1 to 65535");
        }
    }

    @Override
    protected Outcome run(RoleContext context) throws Exception {
        UdaddyOptions given = common.applyTo(arguments);
        UdaddyOptions options = given.withBindAddress(
                bindAddress(context, given.addressFormat(), given.serverAddress(), given.bindAddress()));
        return outcome(
                options,
                options.serverAddress() != null
                        ? new UdaddyRoles.Client(options).run(context)
                        : new UdaddyRoles.Server(options).run(context));
    }

    private Outcome outcome(UdaddyOptions options, UdaddyRoles.Result result) {
        int count = result.times().size();
        List<String> lines = new ArrayList<>();
        String amount = "%d paths, %d messages came and %d went"
                .formatted(count, result.messagesReceived(), result.messagesSent());
        if (!result.unverified().isEmpty()) {
            lines.add("done: " + amount + ", " + result.bytesReceived() + " bytes came; payload not verified: "
                    + result.unverified());
        } else if (result.messagesReceived() == 0) {
            lines.add("verified: %d paths found".formatted(count));
        } else {
            lines.add("verified: " + amount + ", " + result.bytesVerified() + " bytes compared");
        }
        if (result.surplus() > 0) {
            lines.add("  %d more paths were rejected".formatted(result.surplus()));
        }
        lines.add(String.format(
                Locale.ROOT,
                "  set-up          %.1f ms, %.0f paths/s",
                result.setUpNanos() / 1e6,
                Phases.rate(count, result.setUpNanos())));
        Phases phases = new Phases(result.times());
        lines.addAll(phases.lines());
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("role", options.serverAddress() != null ? "client" : "server");
        json.put("connections", count);
        json.put("surplus", result.surplus());
        json.put("sizeBytes", options.sizeBytes());
        json.put("messagesReceived", result.messagesReceived());
        json.put("messagesSent", result.messagesSent());
        json.put("bytesReceived", result.bytesReceived());
        json.put("bytesVerified", result.bytesVerified());
        json.put("reordered", result.reordered());
        json.put("unverified", result.unverified());
        json.put("setUpMs", result.setUpNanos() / 1e6);
        json.put("transferMs", result.transferNanos() / 1e6);
        json.put("connectionsPerSecond", Phases.rate(count, result.setUpNanos()));
        json.put("phases", phases.json());
        return new Outcome(lines, json);
    }
}
