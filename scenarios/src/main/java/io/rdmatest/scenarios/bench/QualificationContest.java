package io.rdmatest.scenarios.bench;

import io.rdmatest.peer.PreparedClasses;
import io.rdmatest.scenarios.interop.Ports;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A whole qualification, from the start of the first process to the end of the last. Theirs are the five C programs one after
 * the other, as a shell script starts them: each server, when it listens its client, and both are waited for. Ours are the same
 * five as JUnit tests in one JVM, which is started for it. Both compare pings; ours compares what the others move as well.
 */
final class QualificationContest implements Contest {

    static final List<String> PROGRAMS = List.of("rping", "ucmatose", "udaddy", "mckey", "rstream");

    private final BenchContext context;
    private final List<String> commands = new ArrayList<>();

    QualificationContest(BenchContext context) {
        this.context = context;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        commands.clear();
        Map<String, Object> millis = new LinkedHashMap<>();
        long nanos = 0;
        int lostRuns = 0;
        for (String program : PROGRAMS) {
            long since = System.nanoTime();
            long lost = 0;
            if (program.equals("mckey")) {
                MckeyPair.Delivery delivery = multicast();
                lostRuns = delivery.lostRuns();
                lost = delivery.lostNanos();
            } else {
                pair(program);
            }
            long took = System.nanoTime() - since - lost;
            millis.put(program, took / 1_000_000);
            nanos += took;
        }
        return new Sample(nanos / 1e9, Map.of("millis", millis, "lostRuns", lostRuns));
    }

    private void pair(String program) throws IOException, InterruptedException {
        int port = Ports.next();
        List<Object> server = switch (program) {
            case "rping" -> List.of("-s", "-a", context.address(), "-S", StandardTests.PING_SIZE, "-p", port);
            case "udaddy" -> messages();
            case "ucmatose" -> messages("-p", port);
            default -> List.of("-b", context.address(), "-p", port);
        };
        List<Object> client = new ArrayList<>(server);
        if (program.equals("rping")) {
            client.set(0, "-c");
            client.addAll(List.of("-C", StandardTests.PINGS, "-V"));
        } else {
            client.set(0, "-s");
        }
        try (TimedProgram listener = TimedProgram.start(context.step(), false, program, server.toArray())) {
            listener.awaitListening();
            try (TimedProgram caller = TimedProgram.start(context.step(), false, program, client.toArray())) {
                long ignored = caller.awaitSuccess();
                // rping's server says that its client left, and fails; the client has compared what it got.
                ignored = program.equals("rping") ? listener.awaitEnd() : listener.awaitSuccess();
                commands.add(caller.command());
            }
        }
    }

    private List<Object> messages(Object... more) {
        List<Object> options = new ArrayList<>(List.of("-b", context.address(), "-c", StandardTests.CONNECTIONS));
        options.addAll(List.of("-C", StandardTests.MESSAGES, "-S", StandardTests.MESSAGE_SIZE));
        options.addAll(List.of(more));
        return options;
    }

    private MckeyPair.Delivery multicast() throws IOException, InterruptedException {
        MckeyPair pair = new MckeyPair(context, false, StandardTests.GROUP, StandardTests.DATAGRAMS);
        MckeyPair.Delivery delivery = pair.deliver();
        commands.add(pair.command());
        return delivery;
    }

    @Override
    public Sample ours() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED"));
        command.addAll(PreparedClasses.options());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), StandardTests.class.getName()));
        try (TimedProgram tests = TimedProgram.start(context.step(), command, "the tests")) {
            long nanos = tests.awaitSuccess();
            return new Sample(nanos / 1e9, Map.of("millis", StandardTests.millis(tests.output())));
        }
    }

    @Override
    public int repetitions() {
        return 0;
    }

    @Override
    public Map<String, Object> parameters() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("commands", List.copyOf(commands));
        all.put(
                "time",
                "from the start of the first process to the end of the last; theirs includes mckey's pause of 3 s");
        return all;
    }
}
