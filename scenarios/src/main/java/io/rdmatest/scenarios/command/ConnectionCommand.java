package io.rdmatest.scenarios.command;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.scenarios.engine.ConnectionResult;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.options.ConnectionOptions;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * One side of a program that makes several connections, or looks up several communication paths, and sends messages on each.
 *
 * @param <O> the program's options
 * @param <R> what the program's roles report
 */
public abstract class ConnectionCommand<O extends ConnectionOptions<O>, R extends ConnectionResult>
        extends ProgramCommand<O> {

    private final String portOption;
    private final String plural;

    /**
     * Creates a command.
     *
     * @param options the options with their defaults
     * @param portOption the option of the port
     * @param plural what the program calls several connections
     */
    protected ConnectionCommand(O options, String portOption, String plural) {
        super(options);
        this.portOption = portOption;
        this.plural = plural;
    }

    /** Returns the client. */
    protected abstract Role<R> client(O options);

    /** Returns the server. */
    protected abstract Role<R> server(O options);

    /** Returns the line of a run without messages, in which every connection was good. */
    protected abstract String withoutMessages(int count);

    /** Adds what the program alone reports to the JSON object. */
    protected abstract void addTo(Map<String, Object> json, R result);

    @Override
    protected final void checkCommandLine() {
        if (options.serverAddress() != null && options.port() == 0) {
            throw new IllegalArgumentException("A client needs the server's port (" + portOption + "), 1 to 65535");
        }
    }

    @Override
    protected final Outcome run(RoleContext context) throws Exception {
        String bind = options.bindAddress();
        boolean gids = options.addressFormat() == Format.GID;
        if (bind != null) {
            requireOnDevice(context, gids ? null : InetAddress.getByName(bind));
        }
        String server = options.serverAddress();
        if (server == null) {
            return outcome(server(options).run(context));
        }
        // A C program binds its client to no address; a device that was asked for is bound to by its own.
        boolean asked = bind == null && options.selectsDevice();
        return outcome(client(asked ? options.and("-b", own(context, gids, server)) : options)
                .run(context));
    }

    private static String own(RoleContext context, boolean gids, String server) throws UnknownHostException {
        return gids
                ? context.device().gid().gid().toString()
                : Addresses.ofFamily(context.device(), InetAddress.getByName(server))
                        .getHostAddress();
    }

    private Outcome outcome(R result) {
        int count = result.times().size();
        List<String> lines = new ArrayList<>();
        String amount = "%d %s, %d messages received, %d sent"
                .formatted(count, plural, result.messagesReceived(), result.messagesSent());
        if (!result.unverified().isEmpty()) {
            lines.add("done: " + amount + ", " + result.bytesReceived() + " bytes received; payload not verified: "
                    + result.unverified());
        } else if (result.messagesReceived() == 0) {
            lines.add("verified: " + withoutMessages(count));
        } else {
            lines.add("verified: " + amount + ", " + result.bytesVerified() + " bytes compared");
        }
        if (result.surplus() > 0) {
            lines.add("  %d more %s were rejected".formatted(result.surplus(), plural));
        }
        double rate = Phases.rate(count, result.setUpNanos());
        lines.add(String.format(
                Locale.ROOT, "  set-up          %.1f ms, %.0f %s/s", result.setUpNanos() / 1e6, rate, plural));
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
        json.put("connectionsPerSecond", rate);
        json.put("phases", phases.json());
        addTo(json, result);
        return new Outcome(lines, json);
    }
}
