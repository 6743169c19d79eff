package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** One side of ucmatose(1). */
@Command(
        name = "ucmatose",
        sortOptions = false,
        description = {
            "Connects, sends messages both ways, and disconnects: any number of connections at once.",
            "The other side may be the C program; between two of ours, every byte is compared."
        })
final class UcmatoseCommand extends ProgramCommand {

    @Mixin
    private UcmatoseOptions arguments = UcmatoseOptions.defaults();

    @Override
    protected void checkCommandLine() {
        if (arguments.serverAddress() != null && arguments.port() == 0) {
            throw new IllegalArgumentException("A client needs the server's port (-p), 1 to 65535");
        }
    }

    @Override
    protected Outcome run(RoleContext context) throws Exception {
        UcmatoseOptions given = common.applyTo(arguments);
        UcmatoseOptions options = given.withBindAddress(
                bindAddress(context, given.addressFormat(), given.serverAddress(), given.bindAddress()));
        return outcome(
                options,
                options.serverAddress() != null
                        ? new UcmatoseRoles.Client(options).run(context)
                        : new UcmatoseRoles.Server(options).run(context));
    }

    private Outcome outcome(UcmatoseOptions options, UcmatoseRoles.Result result) {
        int count = result.times().size();
        List<String> lines = new ArrayList<>();
        String amount = "%d connections, %d messages came and %d went"
                .formatted(count, result.messagesReceived(), result.messagesSent());
        if (!result.unverified().isEmpty()) {
            lines.add("done: " + amount + ", " + result.bytesReceived() + " bytes came; payload not verified: "
                    + result.unverified());
        } else if (result.messagesReceived() == 0) {
            lines.add("verified: %d connections came up and went".formatted(count));
        } else {
            lines.add("verified: " + amount + ", " + result.bytesVerified() + " bytes compared");
        }
        if (result.surplus() > 0) {
            lines.add("  %d more connections were rejected".formatted(result.surplus()));
        }
        lines.add(String.format(
                Locale.ROOT,
                "  set-up          %.1f ms, %.0f connections/s",
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
        json.put("unverified", result.unverified());
        json.put("setUpMs", result.setUpNanos() / 1e6);
        json.put("transferMs", result.transferNanos() / 1e6);
        json.put("tearDownMs", result.tearDownNanos() / 1e6);
        json.put("connectionsPerSecond", Phases.rate(count, result.setUpNanos()));
        json.put("phases", phases.json());
        return new Outcome(lines, json);
    }
}
