package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.ExitStatus;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.cli.Rdmatest;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code ./rdmatest mckey} on a device: what it says and how it ends, when all is well and when it is not. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "120 s")
class MckeyIT {

    private FabricDevice device;
    private int mtu;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
        mtu = device.portAttributes().activeMtu().bytes();
    }

    private record Ended(int status, String out, String err) {}

    private static final class Running {

        private final StringWriter out = new StringWriter();
        private final StringWriter err = new StringWriter();
        private final CompletableFuture<Integer> status;

        private Running(String line) {
            String[] args = ("mckey " + line).split(" ");
            status = new CompletableFuture<>();
            Thread thread = new Thread(
                    () -> {
                        try {
                            status.complete(
                                    Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), args));
                        } catch (RuntimeException | Error e) {
                            status.completeExceptionally(e);
                        }
                    },
                    "mckey " + line);
            thread.setDaemon(true);
            thread.start();
        }

        /** Waits until the side says that it is a member of the group. */
        private Running joined() throws Exception {
            for (long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
                    !err.toString().contains("joined "); ) {
                try {
                    int ended = status.get(20, TimeUnit.MILLISECONDS);
                    throw new AssertionError("ended with " + ended + ": " + err);
                } catch (java.util.concurrent.TimeoutException e) {
                    assertThat(System.nanoTime()).as(err.toString()).isLessThan(deadline);
                }
            }
            return this;
        }

        private Ended end() throws Exception {
            return new Ended(status.get(60, TimeUnit.SECONDS), out.toString(), err.toString());
        }
    }

    private static Ended run(String line) throws Exception {
        return new Running(line).end();
    }

    // ---- when all is well ----

    @Test
    void severalReceiversVerifyWhatOneSenderSends() throws Exception {
        List<Running> receivers = new ArrayList<>();
        receivers.add(new Running("-m 239.77.2.1 -C 50 -S 300 -c 2 --timeout 30s").joined());
        receivers.add(new Running("-m 239.77.2.1 -C 50 -S 300 --json --timeout 30s").joined());

        Ended sender = run("-m 239.77.2.1 -C 50 -S 300 -s -c 3 --settle 0 --json");

        assertThat(sender.status()).as(sender.err()).isZero();
        JsonNode sent = new ObjectMapper().readTree(sender.out());
        assertThat(sent.path("messagesSent").asLong()).isEqualTo(150);
        assertThat(sent.path("queuePairNumbers")).hasSize(3);
        assertThat(sent.path("mgid").asText()).isEqualTo("::ffff:239.77.2.1");

        Ended first = receivers.get(0).end();
        assertThat(first.status()).as(first.err() + first.out()).isZero();
        assertThat(first.out())
                .startsWith("verified: 300 messages of 300 bytes to ::ffff:239.77.2.1 at 2 queue pairs, none lost or"
                        + " duplicated")
                .contains("90000 bytes compared");

        Ended second = receivers.get(1).end();
        assertThat(second.status()).as(second.err()).isZero();
        JsonNode received = new ObjectMapper().readTree(second.out());
        assertThat(received.path("program").asText()).isEqualTo("mckey");
        assertThat(received.path("exit").asInt()).isZero();
        assertThat(received.path("received").asLong()).isEqualTo(150);
        assertThat(received.path("lost").asLong()).isZero();
        assertThat(received.path("bytesVerified").asLong()).isEqualTo(45_000);
        assertThat(received.path("deliveries")).hasSize(3);
        assertThat(received.path("deliveries").get(0).path("payload").asText()).isEqualTo("verified");
    }

    @Test
    void theSenderWaitsBeforeItSendsForReceiversThatStartLater() throws Exception {
        Running sender = new Running("-m 239.77.2.2 -s -C 5").joined();
        Ended receiver = run("-m 239.77.2.2 -C 5 --timeout 30s");
        assertThat(receiver.status()).as(receiver.err() + receiver.out()).isZero();
        assertThat(sender.end().status()).isZero();
    }

    @Test
    void joinsAndLeavesWithoutAnyMessage() throws Exception {
        Ended ended = run("-m 239.77.2.3 -C 0 -c 4");
        assertThat(ended.status()).as(ended.err()).isZero();
        assertThat(ended.out()).startsWith("done: joined ::ffff:239.77.2.3 and left it with 4 queue pairs");
        assertThat(run("-m 239.77.2.3 -C 0 -o").status()).isZero();
    }

    // ---- when it is not ----

    @Test
    void aFlippedByteIsNoticedByEveryReceiver() throws Exception {
        Running text = new Running("-m 239.77.2.4 -C 20 -S 200 --timeout 30s").joined();
        Running json = new Running("-m 239.77.2.4 -C 20 -S 200 --timeout 30s --json").joined();
        assertThat(run("-m 239.77.2.4 -C 20 -S 200 -s --settle 0 --fault flip-payload-byte")
                        .status())
                .isZero();

        Ended told = text.end();
        assertThat(told.status()).as(told.out()).isEqualTo(ExitStatus.FABRIC_FAILED.code());
        assertThat(told.err()).contains("1 with wrong data").contains("wrong byte at offset");
        Ended object = json.end();
        assertThat(object.status()).isEqualTo(ExitStatus.FABRIC_FAILED.code());
        JsonNode received = new ObjectMapper().readTree(object.out());
        assertThat(received.path("mismatches").asLong()).isEqualTo(1);
        assertThat(received.path("lost").asLong()).isZero();
        assertThat(received.path("message").asText()).contains("wrong byte");
    }

    @Test
    void aReceiverWithoutSenderEndsAtItsDeadline() throws Exception {
        Ended ended = run("-m 239.77.2.5 --timeout 300ms");
        assertThat(ended.status()).isEqualTo(ExitStatus.PEER_ABSENT.code());
        assertThat(ended.err()).contains("No message to the group 239.77.2.5 arrived within 300 ms");
    }

    @Test
    void aReceiverThatWaitsForASecondSenderSaysWhatCameAndWhatDidNot() throws Exception {
        Running receiver = new Running("-m 239.77.2.6 -C 4 --senders 2 -S 20 --timeout 4s").joined();
        assertThat(run("-m 239.77.2.6 -C 3 -S 20 -s --settle 0").status()).isZero();
        Ended ended = receiver.end();
        assertThat(ended.status()).as(ended.err() + ended.out()).isEqualTo(ExitStatus.FABRIC_FAILED.code());
        assertThat(ended.err()).contains("1 messages lost");
    }

    @Test
    void aSenderOfFewerMessagesThanExpectedIsNamed() throws Exception {
        Running receiver = new Running("-m 239.77.2.7 -C 10 --timeout 30s").joined();
        assertThat(run("-m 239.77.2.7 -C 4 -s --settle 0").status()).isZero();
        Ended ended = receiver.end();
        assertThat(ended.status()).isEqualTo(ExitStatus.PEER_LOST.code());
        assertThat(ended.err()).contains("sends 4 messages, but this receiver expects 10");
    }

    @Test
    void aSenderOfLargerMessagesIsRefused() throws Exception {
        Running receiver = new Running("-m 239.77.2.8 -S 64 --timeout 8s").joined();
        assertThat(run("-m 239.77.2.8 -S 65 -s --settle 0").status()).isZero();
        Ended ended = receiver.end();
        List<Integer> allowed = new ArrayList<>(List.of(ExitStatus.SIZE_REFUSED.code()));
        if (!device.device().name().startsWith("rxe")) {
            // An adapter may also drop what does not fit into the receive buffer: then nothing comes.
            allowed.add(ExitStatus.PEER_ABSENT.code());
        }
        assertThat(ended.status()).as(ended.err() + ended.out()).isIn(allowed);
    }

    @Test
    void aSenderOfSmallerMessagesIsNamed() throws Exception {
        Running receiver = new Running("-m 239.77.2.9 -S 64 --timeout 4s").joined();
        assertThat(run("-m 239.77.2.9 -S 63 -s --settle 0").status()).isZero();
        Ended ended = receiver.end();
        assertThat(ended.status()).isEqualTo(ExitStatus.FABRIC_FAILED.code());
        assertThat(ended.err()).contains("it has 63 bytes instead of 64: give both sides the same -S");
    }

    @ParameterizedTest
    @CsvSource({"-s", "-C 1"})
    void messagesOverTheMtuAreRefusedBeforeAnythingIsJoined(String side) throws Exception {
        Ended ended = run("-m 239.77.2.10 -S " + (mtu + 1) + " " + side);
        assertThat(ended.status()).isEqualTo(ExitStatus.SIZE_REFUSED.code());
        assertThat(ended.err())
                .contains("exceeds the active MTU of the port, " + mtu + " bytes")
                .doesNotContain("joined ");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // What the software device of the test machine, RoCE on Ethernet, can't do.
                "-m 0.0.0.0 | lets the subnet administrator choose the group",
                "-M 0 -b ADDRESS | lets the subnet administrator choose the group",
                "-m ff0e::77:2 | on RoCE v2 use an IPv4 group",
                "-M ff0e::77:2 -b ADDRESS | on RoCE v2 use an IPv4 group",
                "-m 239.77.2.11 -p 0x0002 | can't be joined here",
                "-m 239.77.2.11 -l -s | can't block the loopback",
                "-m 239.77.2.11 -c 1000 | attaches at most"
            })
    void whatTheDeviceCannotDoIsNamed(String line, String message) throws Exception {
        Ended ended = run(line.replace("ADDRESS", device.address().getHostAddress()) + " --timeout 5s");
        assertThat(ended.status()).as(ended.err()).isEqualTo(ExitStatus.UNSUPPORTED.code());
        assertThat(ended.err()).contains(message);
    }

    @ParameterizedTest
    @CsvSource({"10.254.254.254", "127.0.0.1", "::1"})
    void anAddressThatNoDeviceHasIsNoRoute(String address) throws Exception {
        String group = address.contains(":") ? "ff0e::77:3" : "239.77.2.12";
        Ended ended = run("-m " + group + " -b " + address + " --timeout 5s");
        assertThat(ended.status()).as(ended.err()).isEqualTo(ExitStatus.NO_ROUTE.code());
        assertThat(ended.err()).contains(address.equals("::1") ? "0:0:0:0:0:0:0:1" : address);
    }
}
