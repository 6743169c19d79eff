package io.rdmatest.scenarios.stream;

import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.command.ProgramCommand;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;

/** One side of a byte stream over RDMA WRITE with credits. */
@Command(
        name = "stream",
        sortOptions = false,
        description =
                "Streams bytes over RDMA WRITE with credits, as fi_rstream(7) of libfabric 1.x describes it; the other"
                        + " side is rdmatest too, as no other program speaks it.")
public final class StreamCommand extends ProgramCommand<RmaStreamOptions> {

    public StreamCommand() {
        super(new RmaStreamOptions());
    }

    @Override
    protected void checkCommandLine() {
        if (options.isClient() && options.port() == 0) {
            throw new IllegalArgumentException("A client needs the server's port: -p is 1 to 65535, not 0");
        }
    }

    @Override
    protected Outcome run(RoleContext context) {
        boolean client = options.isClient();
        requireOnDevice(context, client ? null : options.address());
        RmaStreamRoles.Result result = client
                ? new RmaStreamRoles.Client(options).run(context)
                : new RmaStreamRoles.Server(options).run(context);
        String mode = options.stream().mode().name().toLowerCase(Locale.ROOT);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("side", client ? "client" : "server");
        json.put("mode", mode);
        json.put("sizeBytes", options.sizeBytes());
        json.put("transfers", options.transfers());
        json.put("iterations", options.iterations());
        json.put("sendBufferBytes", options.stream().sendBufferBytes());
        json.put("receiveBufferBytes", options.stream().receiveBufferBytes());
        json.put("queueDepth", options.stream().sendQueueDepth());
        json.put("bothAtOnce", options.bothAtOnce());
        json.put("bytesSent", result.bytesSent());
        json.put("bytesReceived", result.bytesReceived());
        json.put("bytesVerified", result.bytesVerified());
        json.put("seconds", result.nanos() / 1e9);
        json.put("gigabitsPerSecond", result.gigabitsPerSecond());
        String summary = String.format(
                Locale.ROOT,
                "%s: %d x %d transfers of %d bytes each way, %d bytes compared, %s, %.3f Gb/s",
                options.verify() ? "verified" : "transferred, not verified",
                options.iterations(),
                options.transfers(),
                options.sizeBytes(),
                result.bytesVerified(),
                mode,
                result.gigabitsPerSecond());
        return new Outcome(List.of(summary), json);
    }
}
