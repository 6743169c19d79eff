package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.KernelLog;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.junit.Connection;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.OutstandingWork;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Describes a failed test before its native objects are closed: the likely cause (one sentence), the evidence (two lines), the
 * full state (a text).
 *
 * <p>Each part is asked for on a thread of its own and for a limited time: what is broken may hang, and must not take the
 * other parts, or the test's end, with it.
 */
public final class Diagnosis {

    /**
     * What was found.
     *
     * @param cause the likely cause in words; empty if the failure's own message is all there is to say
     * @param isMistake whether that is a mistake of the test, proven by its own queues
     * @param lines at most two lines that show it, the last of which says where the rest is
     * @param text everything
     * @param worthwhile whether there was a device or a native object to tell of
     */
    record Report(String cause, boolean isMistake, List<String> lines, String text, boolean worthwhile) {}

    private static final Duration PART = Duration.ofSeconds(5);
    private static final Duration WHOLE = Duration.ofSeconds(20);
    private static final int FRAMES = 24;

    /** What ib_get_eth_speed() of the kernel says at each query of an interface without a speed, whatever the test does. */
    private static final Pattern NOISE = Pattern.compile("speed is unknown, defaulting to \\d+");

    private final List<NativeResource> live;
    private final @Nullable Counters counters;
    private final long kernelLog;
    private final long end = System.nanoTime() + WHOLE.toNanos();
    private final StringBuilder text = new StringBuilder();
    /** Asked for once: a queue pair that hangs costs its time once. */
    private final List<Side> sides = new ArrayList<>();

    /** A queue pair and what the device says of it; null where it does not. */
    private record Side(QueuePair queuePair, @Nullable QueuePairModification attributes, String problem) {

        QpState state() {
            return attributes == null ? QpState.UNKNOWN : attributes.state();
        }

        int destination() {
            return attributes == null || queuePair.type() == QpType.UD ? 0 : attributes.destinationQp();
        }

        String name() {
            String side = Connection.side(queuePair);
            return (side.isEmpty() ? "" : side + " ") + queuePair.describe();
        }

        String summary() {
            OutstandingWork work = queuePair.work();
            return name() + " is in " + (attributes == null ? "an unknown state (" + problem + ")" : state().toString())
                    + ", " + work.sends() + " of " + work.sendsPosted() + " sends and " + work.receives() + " of "
                    + work.receivesPosted() + " receives outstanding";
        }
    }

    private Diagnosis(List<NativeResource> live, @Nullable Counters counters, long kernelLog) {
        this.live = live;
        this.counters = counters;
        this.kernelLog = kernelLog;
    }

    /**
     * Looks at everything.
     *
     * @param what names the test
     * @param thrown why it failed; null if it is still running and its time has run out
     * @param live its native objects
     * @param counters what the device's counters were when it began; null without a device
     * @param kernelLog the end of the kernel's log when it began, {@link KernelLog#mark()}
     */
    static Report of(
            String what,
            @Nullable Throwable thrown,
            List<NativeResource> live,
            @Nullable Counters counters,
            long kernelLog) {
        return new Diagnosis(live, counters, kernelLog).report(what, thrown);
    }

    private Report report(String what, @Nullable Throwable thrown) {
        for (NativeResource resource : live) {
            if (resource instanceof QueuePair queuePair && !queuePair.isClosed()) {
                sides.add(ask(queuePair));
            }
        }
        SortedMap<String, Long> suspicious =
                counters == null ? new TreeMap<>() : boundedOr(counters::suspicious, new TreeMap<>());
        Optional<String> mistake = boundedOr(() -> mistake(thrown, suspicious), Optional.empty());
        String cause = mistake.orElseGet(() -> bounded(() -> cause(thrown)));
        List<String> kernel = boundedOr(() -> KernelLog.since(kernelLog), List.<String>of()).stream()
                .filter(line -> !NOISE.matcher(line).find())
                .toList();
        List<String> lines = new ArrayList<>();
        culprit(thrown).map(Side::summary).or(this::lastEvent).ifPresent(lines::add);
        boolean worthwhile = counters != null || !live.isEmpty();
        String elsewhere = worthwhile ? "; everything else is in diagnosis.txt" : "";
        if (!suspicious.isEmpty()) {
            lines.add("counters of " + device() + ": " + Counters.words(suspicious) + elsewhere);
        } else if (!kernel.isEmpty()) {
            lines.add("kernel: " + kernel.getLast() + elsewhere);
        } else if (worthwhile) {
            lines.add("everything else is in diagnosis.txt: events, queue pairs, counters, kernel log, threads");
        }

        text.append(what).append(System.lineSeparator());
        if (thrown != null) {
            StringWriter stack = new StringWriter();
            thrown.printStackTrace(new PrintWriter(stack, true));
            text.append(stack);
        } else {
            text.append("is still running, and its time has run out").append(System.lineSeparator());
        }
        if (!cause.isEmpty()) {
            text.append("likely cause: ").append(cause).append(System.lineSeparator());
        }
        part("connection manager events, the last of each channel", this::events);
        part("queue pairs", this::queuePairs);
        part("completion queues and shared receive queues", this::queues);
        part("native objects of the test, in the order of their creation", this::objects);
        part("this process's objects as the kernel lists them", Diagnosis::kernelObjects);
        part("ports and GIDs", this::ports);
        part("counters: before, after, growth", this::counterTable);
        part("kernel log since the test began", this::kernelLog);
        part("threads", Diagnosis::threads);
        return new Report(cause, mistake.isPresent(), List.copyOf(lines), text.toString(), worthwhile);
    }

    private String device() {
        return counters == null ? "the device" : counters.device().device().name();
    }

    private Side ask(QueuePair queuePair) {
        try {
            return new Side(queuePair, bounded(queuePair::query, left()), "");
        } catch (RuntimeException e) {
            return new Side(queuePair, null, String.valueOf(e.getMessage()));
        }
    }

    // ---- what is most likely amiss ----

    /** The queue pair that the failure is about: the one it names, or one with work on the queue that it names. */
    private Optional<Side> culprit(@Nullable Throwable thrown) {
        if (thrown instanceof WorkCompletionException completion) {
            return sides.stream()
                    .filter(side -> side.queuePair().number() == completion.qpNumber())
                    .findFirst();
        }
        if (thrown instanceof RdmaTimeoutException timeout) {
            Optional<Side> awaited = sides.stream()
                    .filter(side -> isNamed(timeout.awaited(), side.queuePair().sendQueue())
                            || isNamed(timeout.awaited(), side.queuePair().receiveQueue())
                            || isNamed(timeout.awaited(), side.queuePair()))
                    .max(Comparator.comparingLong(Diagnosis::outstanding));
            if (awaited.isPresent() || !timeout.awaited().contains("completion")) {
                return awaited;
            }
        }
        return sides.stream()
                .filter(side -> side.state() == QpState.ERR || outstanding(side) > 0)
                .max(Comparator.<Side, Boolean>comparing(side -> side.state() == QpState.ERR)
                        .thenComparing(Diagnosis::outstanding));
    }

    private static boolean isNamed(String awaited, NativeResource resource) {
        return (awaited + " ").contains(resource.describe() + " ");
    }

    private static long outstanding(Side side) {
        return side.queuePair().work().sends() + side.queuePair().work().receives();
    }

    private Optional<String> mistake(@Nullable Throwable thrown, Map<String, Long> suspicious) {
        Optional<QueuePair> culprit = culprit(thrown).map(Side::queuePair);
        List<QueuePair> all = sides.stream().map(Side::queuePair).toList();
        if (thrown instanceof WorkCompletionException completion) {
            return culprit.flatMap(queuePair -> Mistake.of(completion.status(), queuePair, all));
        }
        // A test whose time has run out may hang elsewhere: only a wait says that it is for this queue.
        if (thrown instanceof RdmaTimeoutException timeout) {
            boolean receiverNotReady = suspicious.keySet().stream().anyMatch(name -> name.contains("rnr"));
            return culprit.filter(sender -> isNamed(timeout.awaited(), sender.sendQueue()))
                    .filter(sender -> sender.state() == QpState.RTS)
                    .flatMap(sender -> Mistake.ofSilence(sender, all, receiverNotReady));
        }
        return Optional.empty();
    }

    private String cause(@Nullable Throwable thrown) {
        if (thrown instanceof RdmaTimeoutException timeout && timeout.rdmaCause() == Cause.DEFECT) {
            // The wait ended before its limit: nothing is known about the peer.
            return "";
        }
        if (thrown != null && Cause.of(thrown).isCompletion()) {
            return Cause.of(thrown).hint();
        }
        if (thrown instanceof UnexpectedCmEventException
                || thrown != null && !(thrown instanceof RdmaTimeoutException)) {
            return "";
        }
        return culprit(thrown).map(this::silence).orElseGet(() -> {
            boolean forEvent = thrown instanceof RdmaTimeoutException timeout
                    && !timeout.awaited().contains("completion");
            return forEvent ? "the peer is silent: the connection manager reported nothing more" : "";
        });
    }

    private String silence(Side side) {
        OutstandingWork work = side.queuePair().work();
        if (side.state() == QpState.ERR) {
            return side.name() + " is in the error state";
        }
        if (side.state() != QpState.RTS && side.state() != QpState.RTR && side.attributes() != null) {
            return side.name() + " is not connected, it is in " + side.state();
        }
        if (work.sends() > 0) {
            return "the peer is silent: " + side.name() + " waits for the acknowledgement of " + work.sends() + " send"
                    + (work.sends() == 1 ? "" : "s") + endless(side);
        }
        if (work.receives() > 0) {
            String waits = side.name() + " has " + work.receives() + " receive" + (work.receives() == 1 ? "" : "s")
                    + " outstanding";
            return "the peer is silent: " + waits
                    + peer(side)
                            .map(peer -> ", and " + peer.name() + " at the other end is in " + peer.state()
                                    + " and has "
                                    + (peer.queuePair().work().sendsPosted() == 0
                                            ? "posted no send"
                                            : "posted "
                                                    + peer.queuePair().work().sendsPosted() + " sends"))
                            .orElse(", and nothing came from queue pair " + side.destination());
        }
        return "there is nothing to wait for: " + side.name() + " has no work outstanding";
    }

    private static String endless(Side side) {
        QueuePair queuePair = side.queuePair();
        if (queuePair.type() != QpType.RC || side.attributes() == null) {
            return "";
        }
        int retryCount = side.attributes().retryCount();
        String driver = queuePair.protectionDomain().context().driver();
        return DriverQuirks.retriesWithoutEnd(driver, retryCount)
                ? "; with retry count " + retryCount + " " + driver + " repeats them without end: with "
                        + DriverQuirks.LARGEST_FINITE_RETRY_COUNT + " they fail with IBV_WC_RETRY_EXC_ERR"
                : "";
    }

    private Optional<Side> peer(Side side) {
        return sides.stream()
                .filter(other -> other != side
                        && other.queuePair().number() == side.destination()
                        && other.destination() == side.queuePair().number())
                .findFirst();
    }

    private Optional<String> lastEvent() {
        return live.stream()
                .filter(EventChannel.class::isInstance)
                .flatMap(channel -> ((EventChannel) channel).history().stream())
                .max(Comparator.comparing(EventChannel.Seen::at))
                .map(seen -> "last connection manager event: " + seen.event() + " at " + seen.at());
    }

    // ---- everything ----

    private Stream<String> events() {
        return live.stream()
                .filter(EventChannel.class::isInstance)
                .map(EventChannel.class::cast)
                .flatMap(channel -> {
                    List<String> lines = new ArrayList<>();
                    lines.add(channel.describe() + (channel.history().isEmpty() ? ": no event came" : ""));
                    channel.history().forEach(seen -> lines.add("  " + seen.at() + " " + seen.event()));
                    if (!channel.isClosed()) {
                        channel.eventsNotTaken().forEach(event -> lines.add("  not taken by anybody: " + event));
                    }
                    return lines.stream();
                });
    }

    private Stream<String> queuePairs() {
        return sides.stream()
                .sorted(Comparator.comparing(side -> Connection.side(side.queuePair())))
                .flatMap(side -> {
                    QueuePairModification attributes = side.attributes();
                    List<String> lines = new ArrayList<>();
                    lines.add(side.name() + ", " + side.queuePair().type() + ", state " + side.state()
                            + (attributes == null ? ": " + side.problem() : "") + ", made for "
                            + ownerOf(side.queuePair()));
                    lines.add("  " + side.queuePair().work());
                    if (attributes != null) {
                        lines.add("  " + values(side.queuePair().type(), attributes));
                    }
                    peer(side).ifPresent(peer -> lines.add("  at the other end: " + peer.name()));
                    return lines.stream();
                });
    }

    private static String values(QpType type, QueuePairModification its) {
        if (type == QpType.UD) {
            return "send PSN " + its.sendPsn() + ", port " + its.port() + ", pkey index " + its.pkeyIndex()
                    + ", qkey 0x" + Integer.toHexString(its.qkey());
        }
        return "current state " + its.currentState() + ", destination QP " + its.destinationQp() + ", path MTU "
                + its.pathMtu() + ", send PSN " + its.sendPsn() + ", receive PSN " + its.receivePsn() + ", timeout "
                + its.timeout() + ", retry count " + its.retryCount() + ", RNR retry " + its.rnrRetry()
                + ", min RNR timer " + its.minRnrTimer() + ", max read/atomic " + its.maxReadAtomic()
                + " out and " + its.maxDestinationReadAtomic() + " in, port " + its.port() + ", pkey index "
                + its.pkeyIndex() + ", qkey 0x" + Integer.toHexString(its.qkey()) + ", access " + its.access()
                + ", address " + its.addressVector();
    }

    private static String ownerOf(NativeResource resource) {
        Ledger.Owner owner = resource.owner();
        return owner == null ? "nobody known" : owner.name();
    }

    private Stream<String> queues() {
        return live.stream().flatMap(resource -> switch (resource) {
            case CompletionQueue queue ->
                Stream.of(queue.describe() + ": "
                        + (queue.channel() == null
                                ? "polled"
                                : "with " + queue.channel().describe() + ", " + queue.eventsNotTaken()
                                        + " events not taken"));
            case SharedReceiveQueue queue -> Stream.of(queue.describe() + ": " + queue.work());
            default -> Stream.of();
        });
    }

    private Stream<String> objects() {
        return live.stream()
                .map(resource -> resource.describe() + ", created at " + Life.createdAt(resource)
                        + (resource.parents().isEmpty()
                                ? ""
                                : ", on "
                                        + resource.parents().stream()
                                                .map(NativeResource::describe)
                                                .collect(Collectors.joining(", "))));
    }

    private static Stream<String> kernelObjects() {
        return KernelResource.list().stream()
                .filter(KernelResource::isOfThisProcess)
                .map(resource -> resource.describe() + ", made by thread " + resource.thread());
    }

    private Stream<String> ports() {
        return Stream.concat(
                portsOfTest(),
                RdmaDevice.unusable().entrySet().stream()
                        .map(device -> device.getKey() + " can't be used: " + device.getValue()));
    }

    private Stream<String> portsOfTest() {
        if (counters == null) {
            return Stream.of("no device");
        }
        List<DeviceContext> open = Ledger.live().stream()
                .filter(DeviceContext.class::isInstance)
                .map(DeviceContext.class::cast)
                .filter(context -> context.deviceName().equals(device()))
                .limit(1)
                .toList();
        int port = counters.device().port();
        return open.isEmpty()
                ? Stream.of(device() + " port " + port + " as the run found it: "
                        + counters.device().portAttributes())
                : open.stream()
                        .flatMap(context -> Stream.concat(
                                Stream.of(device() + " port " + port + ": " + context.port(port)),
                                context.gidTable(port).stream().map(entry -> "  " + entry)));
    }

    private Stream<String> counterTable() {
        if (counters == null) {
            return Stream.of("no device");
        }
        Map<String, Long> before = counters.before();
        return counters.now().entrySet().stream().map(entry -> {
            long was = before.getOrDefault(entry.getKey(), 0L);
            return entry.getKey() + ": " + was + " -> " + entry.getValue()
                    + (entry.getValue() == was ? "" : " (+" + (entry.getValue() - was) + ")");
        });
    }

    private Stream<String> kernelLog() {
        try {
            List<String> lines = KernelLog.since(kernelLog);
            return lines.isEmpty() ? Stream.of("nothing") : lines.stream();
        } catch (RdmaException e) {
            return Stream.of("not to be read: " + e.getMessage()
                    + " (root, or kernel.dmesg_restrict=0 and permission for /dev/kmsg)");
        }
    }

    private static Stream<String> threads() {
        return Thread.getAllStackTraces().entrySet().stream()
                .sorted(Comparator.comparing(entry -> entry.getKey().getName()))
                .flatMap(entry -> Stream.concat(
                        Stream.of("\"" + entry.getKey().getName() + "\" "
                                + entry.getKey().getState()),
                        Stream.of(entry.getValue()).limit(FRAMES).map(frame -> "    at " + frame)));
    }

    // ---- bounded in time ----

    private void part(String title, Supplier<Stream<String>> lines) {
        text.append(System.lineSeparator()).append("== ").append(title).append(System.lineSeparator());
        try {
            List<String> found = bounded(() -> lines.get().toList(), left());
            text.append(found.isEmpty() ? "none" + System.lineSeparator() : "");
            found.forEach(line -> text.append(line).append(System.lineSeparator()));
        } catch (RuntimeException e) {
            text.append("not to be told: ").append(e.getMessage()).append(System.lineSeparator());
        }
    }

    /** A millisecond at least, so that what needs no time is shown also when time is up. */
    private Duration left() {
        Duration left = Duration.ofNanos(Math.max(1_000_000, end - System.nanoTime()));
        return left.compareTo(PART) > 0 ? PART : left;
    }

    private String bounded(Supplier<String> part) {
        return boundedOr(part, "");
    }

    private <T> T boundedOr(Supplier<T> part, T otherwise) {
        try {
            return bounded(part, left());
        } catch (RuntimeException e) {
            return otherwise;
        }
    }

    /** Computes a part on another thread; one that hangs is left behind, as nothing can end a native call. */
    static <T> T bounded(Supplier<T> part, Duration limit) {
        FutureTask<T> task = new FutureTask<>(part::get);
        Thread thread = Thread.ofPlatform().daemon().name("rdma-diagnosis").start(task);
        boolean interrupted = Thread.interrupted();
        try {
            return task.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            thread.interrupt();
            throw new IllegalStateException("no answer within " + limit.toSeconds() + " s", e);
        } catch (InterruptedException e) {
            interrupted = true;
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(
                    e.getCause() == null
                            ? e.getMessage()
                            : String.valueOf(e.getCause().getMessage()),
                    e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Moves queue pairs to the error state, so that whoever polls for their completions gets them, flushed. */
    static void flush(List<NativeResource> live) {
        for (NativeResource resource : live) {
            if (resource instanceof QueuePair queuePair && !queuePair.isClosed()) {
                try {
                    queuePair.toError();
                } catch (RuntimeException e) {
                    System.err.println(queuePair.describe() + " can't be moved to the error state: " + e.getMessage());
                }
            }
        }
    }
}
