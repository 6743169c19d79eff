package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.WholeLedger;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class KernelResourceIT {

    private static final Pattern OBJECT = Pattern.compile("\\{[^{}]*}");
    private static final Map<KernelResource.Kind, String> NUMBER = Map.of(
            KernelResource.Kind.CONTEXT, "ctxn",
            KernelResource.Kind.PROTECTION_DOMAIN, "pdn",
            KernelResource.Kind.MEMORY_REGION, "mrn",
            KernelResource.Kind.COMPLETION_QUEUE, "cqn",
            KernelResource.Kind.SHARED_RECEIVE_QUEUE, "srqn",
            KernelResource.Kind.QUEUE_PAIR, "lqpn",
            KernelResource.Kind.CM_ID, "cm-idn");

    private static SortedSet<String> asTheToolPrints(KernelResource.Kind kind)
            throws IOException, InterruptedException {
        Path output = Files.createTempFile("rdma-resource", ".json");
        try {
            Process process = new ProcessBuilder("rdma", "-j", "resource", "show", kind.word())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError("rdma resource show " + kind.word() + " does not end");
            }
            SortedSet<String> objects = new TreeSet<>();
            Matcher object = OBJECT.matcher(Files.readString(output, StandardCharsets.UTF_8));
            while (object.find()) {
                objects.add(value(object.group(), "ifname") + "/" + value(object.group(), NUMBER.get(kind)) + " by "
                        + value(object.group(), "pid"));
            }
            return objects;
        } finally {
            Files.delete(output);
        }
    }

    private static String value(String object, String key) {
        Matcher matcher = Pattern.compile("\"" + key + "\":\\s*\"?([^,\"}]*)").matcher(object);
        return matcher.find() ? matcher.group(1).strip() : "0";
    }

    @Test
    void listsWhatTheRdmaToolLists() throws Exception {
        // A test before may have had librdmacm open the devices, which it does for as long as the process runs.
        List<KernelResource> before = ofThisProcess();
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            rig.add(rig.pd.createSharedReceiveQueue(4, 1));
            for (KernelResource.Kind kind : KernelResource.Kind.values()) {
                SortedSet<String> listed = listed(kind);
                SortedSet<String> printed = asTheToolPrints(kind);
                // Another process may have made an object between the two looks.
                for (int i = 0; i < 20 && !listed.equals(listed(kind)); i++) {
                    listed = listed(kind);
                    printed = asTheToolPrints(kind);
                }
                assertThat(listed).as(kind.word()).isEqualTo(printed);
            }
            List<KernelResource> own = KernelResource.list(KernelResource.Kind.QUEUE_PAIR).stream()
                    .filter(KernelResource::isOfThisProcess)
                    .toList();
            assertThat(own)
                    .extracting(KernelResource::number)
                    .contains((long) pair.a().number(), (long) pair.b().number());
            assertThat(own.getFirst().describe()).matches("qp " + rig.context.deviceName() + "/\\d+ on pd \\d+.*");
        }
        assertThat(ofThisProcess()).containsExactlyInAnyOrderElementsOf(before);
    }

    private static SortedSet<String> listed(KernelResource.Kind kind) {
        return KernelResource.list(kind).stream()
                .map(object -> object.device() + "/" + object.number() + " by " + object.thread())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static List<KernelResource> ofThisProcess() {
        return KernelResource.list().stream()
                .filter(KernelResource::isOfThisProcess)
                .toList();
    }

    @Test
    void takesLessTimeThanTheTool(TestReporter reporter) throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            assertThat(pair.a().number()).isNotEqualTo(pair.b().number());
            List<Long> nanos = new ArrayList<>();
            int objects = 0;
            for (int i = 0; i < 200; i++) {
                long begin = System.nanoTime();
                objects = KernelResource.list().size();
                nanos.add(System.nanoTime() - begin);
            }
            assertThat(objects).isGreaterThanOrEqualTo(8);
            nanos.sort(null);
            long begin = System.nanoTime();
            assertThat(asTheToolPrints(KernelResource.Kind.QUEUE_PAIR)).isNotEmpty();
            long tool = System.nanoTime() - begin;
            reporter.publishEntry(
                    "KernelResource.list()",
                    String.format(
                            Locale.ROOT,
                            "%d objects, first %.1f ms, median of 200 %.3f ms; rdma resource show %.1f ms",
                            objects,
                            nanos.getLast() / 1e6,
                            nanos.get(100) / 1e6,
                            tool / 1e6));
        }
    }

    @Test
    void countsOutstandingWorkAndPackets() throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            RdmaDevice device = RdmaDevice.byName(rig.context.deviceName());
            Map<String, Long> before = device.hardwareCounters(rig.port);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.b().postReceive(2, pair.mrB(), 0, 64);
            pair.a().postSend(3, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            assertThat(pair.a().work().sendsPosted()).isEqualTo(1);
            pair.cqA().awaitSuccess(Duration.ofSeconds(20));
            pair.cqB().awaitSuccess(Duration.ofSeconds(20));
            assertThat(pair.a().work()).isEqualTo(new OutstandingWork(1, 1, 0, 0, 0, 0));
            assertThat(pair.b().work()).isEqualTo(new OutstandingWork(0, 0, 2, 1, 0, 0));
            assertThat(pair.b().work().receives()).isEqualTo(1);
            assertThat(device.hardwareCounters(rig.port)).hasSameSizeAs(before).isNotEqualTo(before);
            pair.b().drain(Duration.ofSeconds(20));
            assertThat(pair.b().work().receives() - pair.b().work().undecided()).isNotPositive();
            pair.b().reset();
            assertThat(pair.b().work()).isEqualTo(new OutstandingWork(0, 0, 0, 0, 0, 0));
        }
    }
}
