package io.rdmatest.scenarios.rping;

import io.rdmatest.scenarios.command.FailedClients;
import io.rdmatest.scenarios.command.Latency;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.command.ProgramCommand;
import io.rdmatest.scenarios.options.AddressOptions;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.RoleContext;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** One side of rping(1). */
@Command(
        name = "rping",
        sortOptions = false,
        description = {
            "Pings by RDMA: the server reads the client's text by RDMA READ and writes it back by RDMA WRITE.",
            "The other side may be the C program."
        })
public final class RpingCommand extends ProgramCommand<RpingOptions> {

    public RpingCommand() {
        super(new RpingOptions());
    }

    @Override
    protected void checkCommandLine() {
        RpingOptions.Side side = options.side();
        if (side == null) {
            throw new IllegalArgumentException("Either -s (server) or -c (client) must be given");
        }
        if (side == RpingOptions.Side.CLIENT && options.address() == null) {
            throw new IllegalArgumentException("A client (-c) needs the server's address (-a)");
        }
        if (side == RpingOptions.Side.CLIENT && options.port() == 0) {
            throw new IllegalArgumentException("A client (-c) needs the server's port (-p), 1 to 65535");
        }
        if (side == RpingOptions.Side.CLIENT && isGiven("--clients")) {
            throw new IllegalArgumentException("--clients applies to servers only");
        }
        if (side == RpingOptions.Side.CLIENT) {
            AddressOptions.requireOneFamily("-I", options.source(), "-a", options.address());
        }
    }

    @Override
    protected Outcome run(RoleContext context) throws Exception {
        Consumer<String> traced = printer(err());
        // Standard output belongs to the one object.
        Consumer<String> printed = options.json() ? traced : this::printNow;
        if (options.side() == RpingOptions.Side.CLIENT) {
            InetAddress own = source(context);
            RpingOptions from = own == null ? options : options.and("-I", own);
            return client(new RpingRoles.Client(from, printed, traced).run(context));
        }
        requireOnDevice(context, options.address());
        FailedClients failed = new FailedClients();
        RpingRoles.ServerResult result = new RpingRoles.Server(options, printed, traced).run(context, failed);
        return server(result, failed.decisive());
    }

    /** Without a source the kernel takes any device that leads to the server. */
    private @Nullable InetAddress source(RoleContext context) {
        InetAddress own = options.source();
        requireOnDevice(context, own);
        InetAddress server = Objects.requireNonNull(options.address());
        // A link-local address says by itself over which interface it is reached.
        return own != null || !options.selectsDevice() || server.isLinkLocalAddress()
                ? own
                : Addresses.ofFamily(context.device(), server);
    }

    private static Consumer<String> printer(PrintWriter writer) {
        return line -> {
            writer.println(line);
            writer.flush();
        };
    }

    private Outcome client(RpingRoles.ClientResult result) {
        String amount = "%d pings of %d bytes, ".formatted(result.pings(), options.sizeBytes());
        String summary = (options.validate()
                        ? "verified: " + amount + result.bytesVerified() + " bytes compared"
                        : "done: " + amount + result.bytesReturned() + " bytes returned, not validated (-V)")
                + (result.pings() == 0 ? "" : ", " + Latency.text(result.latencies()));
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("role", "client");
        json.put("pings", result.pings());
        json.put("sizeBytes", options.sizeBytes());
        json.put("bytesReturned", result.bytesReturned());
        json.put("validated", options.validate());
        json.put("bytesVerified", result.bytesVerified());
        if (result.pings() > 0) {
            json.put("latency", Latency.json(result.latencies()));
        }
        json.put("resolveUs", result.resolveNanos() / 1e3);
        json.put("routeUs", result.routeNanos() / 1e3);
        json.put("connectUs", result.connectNanos() / 1e3);
        return new Outcome(List.of(summary), json);
    }

    /** The pings that are counted are verified, those of a client that failed afterwards as well. */
    private Outcome server(RpingRoles.ServerResult result, @Nullable Throwable failure) {
        List<String> lines = new ArrayList<>();
        String clients = result.clients() + (result.clients() == 1 ? " client" : " clients");
        String failed = "%d of %s failed".formatted(result.failedClients(), clients);
        lines.add("%s: %d pings of %s, %d bytes compared"
                .formatted(failure == null ? "verified" : failed, result.pings(), clients, result.bytesVerified()));
        lines.addAll(result.failures());
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("role", "server");
        json.put("persistent", options.persistent());
        json.put("clients", result.clients());
        json.put("failedClients", result.failedClients());
        json.put("failures", result.failures());
        json.put("pings", result.pings());
        json.put("bytesRead", result.bytesRead());
        json.put("bytesVerified", result.bytesVerified());
        return failure == null ? new Outcome(lines, json) : Outcome.ofFailedClients(failed, failure, lines, json);
    }
}
