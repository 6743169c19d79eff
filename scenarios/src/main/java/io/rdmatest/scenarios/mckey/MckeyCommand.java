package io.rdmatest.scenarios.mckey;

import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.command.ProgramCommand;
import io.rdmatest.scenarios.mckey.MulticastRoles.Received;
import io.rdmatest.scenarios.mckey.MulticastRoles.Sent;
import io.rdmatest.scenarios.options.AddressOptions;
import io.rdmatest.scenarios.role.Delivery;
import io.rdmatest.scenarios.role.Delivery.Proof;
import io.rdmatest.scenarios.role.DeliveryError;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;

/** One side of mckey(1). */
@Command(
        name = "mckey",
        sortOptions = false,
        description = {
            "Joins a multicast group, sends messages to it (-s) or receives them, and leaves.",
            "The other sides may be the C program, whose messages can only be counted."
        })
public final class MckeyCommand extends ProgramCommand<MckeyOptions> {

    /** Pairs of receiver and sender that the text lists; JSON has all of them. */
    private static final int LISTED = 16;

    public MckeyCommand() {
        super(new MckeyOptions());
    }

    @Override
    protected void checkCommandLine() {
        if (options.group() == null && options.unmappedGroup() == null) {
            throw new IllegalArgumentException("A group must be given: its address (-m) or its MGID (-M)");
        }
        if (options.unmappedGroup() != null && options.bind() == null) {
            throw new IllegalArgumentException("-M needs the local address as well (-b): an MGID selects no device");
        }
        AddressOptions.requireOneFamily("-b", options.bind(), "-m", options.group());
        if (options.sendOnly() && !options.isSender() && options.messages() > 0) {
            throw new IllegalArgumentException(
                    "A send-only member (-o) receives nothing: send (-s), or only join and leave (-C 0)");
        }
    }

    @Override
    protected Outcome run(RoleContext context) {
        requireOnDevice(context, options.bind());
        if (options.isSender()) {
            return sent(new MulticastRoles.Sender(options).run(context));
        }
        try {
            return received(new MulticastRoles.Receiver(options).run(context));
        } catch (DeliveryError e) {
            return failed(e);
        }
    }

    private Outcome sent(Sent result) {
        Map<String, Object> json = json("sender");
        json.put("mgid", result.group().toString());
        json.put("mlid", result.lid());
        json.put("queuePairNumbers", result.queuePairs());
        json.put("messagesSent", result.messages());
        json.put("bytesSent", result.bytes());
        return new Outcome(
                List.of(
                        "sent: %d messages of %d bytes from %s to %s, all sends completed; see the receivers for delivery"
                                .formatted(
                                        result.messages(),
                                        options.sizeBytes(),
                                        count(options.queuePairs(), "queue pair"),
                                        result.group())),
                json);
    }

    private Outcome received(Received result) {
        Map<String, Object> json = json("receiver");
        json.put("mgid", result.group().toString());
        json.put("mlid", result.lid());
        json.put("queuePairNumbers", result.queuePairs());
        figures(json, result.deliveries());
        String came = "%d messages of %d bytes to %s at %s, none lost or duplicated, %d out of order"
                .formatted(
                        result.messages(),
                        options.sizeBytes(),
                        result.group(),
                        count(options.queuePairs(), "queue pair"),
                        result.reordered());
        List<String> lines = new ArrayList<>();
        lines.add(summary(result, came));
        list(lines, result.deliveries());
        return new Outcome(lines, json);
    }

    private String summary(Received result, String came) {
        if (options.messages() == 0) {
            return "done: joined %s and left it with %s"
                    .formatted(result.group(), count(options.queuePairs(), "queue pair"));
        }
        Proof proof = result.proof();
        if (proof == Proof.COUNTED) {
            return "received: " + came + "; "
                    + (options.sizeBytes() == 0
                            ? "there is no payload to verify"
                            : "payload not verified: the sender is the C program");
        }
        return "verified: " + came + ", " + result.bytesVerified() + " bytes compared"
                + (proof == Proof.COMPACT
                        ? "; messages of this size don't carry their number, so a loss of the last ones is not detected"
                        : "");
    }

    private Outcome failed(DeliveryError failure) {
        Map<String, Object> json = json("receiver");
        figures(json, failure.deliveries());
        List<String> lines = new ArrayList<>();
        list(lines, failure.deliveries());
        return new Outcome(ExitStatus.FABRIC_FAILED, String.valueOf(failure.getMessage()), lines, json);
    }

    private static void list(List<String> lines, List<Delivery> deliveries) {
        deliveries.stream().limit(LISTED).map(Delivery::toString).forEach(lines::add);
        if (deliveries.size() > LISTED) {
            lines.add("… and %d more; --json lists all".formatted(deliveries.size() - LISTED));
        }
    }

    private Map<String, Object> json(String role) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("role", role);
        json.put("group", options.groupText());
        json.put("portSpace", options.portSpace().name());
        json.put("queuePairs", options.queuePairs());
        json.put("messages", options.messages());
        json.put("sizeBytes", options.sizeBytes());
        json.put("sendOnly", options.sendOnly());
        json.put("blockLoopback", options.blockLoopback());
        return json;
    }

    private static void figures(Map<String, Object> json, List<Delivery> deliveries) {
        json.put("received", deliveries.stream().mapToLong(Delivery::received).sum());
        json.put("lost", deliveries.stream().mapToLong(Delivery::lost).sum());
        json.put(
                "duplicates",
                deliveries.stream().mapToLong(Delivery::duplicates).sum());
        json.put("reordered", deliveries.stream().mapToLong(Delivery::reordered).sum());
        json.put(
                "mismatches",
                deliveries.stream().mapToLong(Delivery::mismatches).sum());
        json.put(
                "violations",
                deliveries.stream().mapToLong(Delivery::violations).sum());
        json.put(
                "bytesVerified",
                deliveries.stream().mapToLong(Delivery::bytesVerified).sum());
        json.put("deliveries", deliveries.stream().map(MckeyCommand::figures).toList());
    }

    private static Map<String, Object> figures(Delivery delivery) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("receiver", delivery.receiver());
        json.put("receiverQp", delivery.receiverQp());
        json.put("senderQp", delivery.senderQp());
        json.put("payload", delivery.proof().toString());
        json.put("received", delivery.received());
        json.put("lost", delivery.lost());
        json.put("duplicates", delivery.duplicates());
        json.put("reordered", delivery.reordered());
        json.put("mismatches", delivery.mismatches());
        json.put("violations", delivery.violations());
        json.put("bytesVerified", delivery.bytesVerified());
        return json;
    }

    private static String count(long number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }
}
