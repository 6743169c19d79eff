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
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;

/**
 * One side of a program that makes several connections, or looks up several communication paths, and sends messages on each.
 *
 * @param <O> the program's options
 * @param <R> what the program's roles report
 */
public abstract class ConnectionCommand<O extends ConnectionOptions<O>, R extends ConnectionResult>
        extends ProgramCommand {

    @Mixin
    private O arguments;

    private final String portOption;
    private final String plural;

    /**
     * Creates a command.
     *
     * @param arguments the options with their defaults
     * @param portOption the option of the port
     * @param plural what the program calls several connections
     */
    protected ConnectionCommand(O arguments, String portOption, String plural) {
        this.arguments = arguments;
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
        if (arguments.serverAddress() != null && arguments.port() == 0) {
            throw new IllegalArgumentException("A client needs the server's port (" + portOption + "), 1 to 65535");
        }
    }

    @Override
    protected final Outcome run(RoleContext context) throws Exception {
        O given = common.applyTo(arguments);
        O options = given.withBindAddress(
                bindAddress(context, given.addressFormat(), given.serverAddress(), given.bindAddress()));
        return outcome(
                options,
                options.serverAddress() != null
                        ? client(options).run(context)
                        : server(options).run(context));
    }

    /**
     * Returns what to bind to. A C program binds its server to any address and its client to none; a device that was asked for
     * is bound to by its own.
     *
     * @param format the format of the addresses
     * @param server the server's address; null for the server itself
     * @param bind the local address that was given; null if none was
     * @return the address; null if the role finds it by itself
     * @throws UnknownHostException if a name is not known
     */
    private @Nullable String bindAddress(
            RoleContext context, Format format, @Nullable String server, @Nullable String bind)
            throws UnknownHostException {
        if (bind != null) {
            requireOnDevice(context, format == Format.GID ? null : InetAddress.getByName(bind));
            return bind;
        }
        boolean asked = common.selectsDevice();
        if (server == null) {
            return asked ? null : format == Format.GID ? "::" : "0.0.0.0";
        }
        if (!asked) {
            return null;
        }
        return format == Format.GID
                ? context.device().gid().gid().toString()
                : Addresses.ofFamily(context.device(), InetAddress.getByName(server))
                        .getHostAddress();
    }

    private Outcome outcome(O options, R result) {
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
