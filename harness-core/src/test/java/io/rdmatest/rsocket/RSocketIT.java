package io.rdmatest.rsocket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.Closer;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WholeLedger;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs both ends in this JVM, over the device that serves the host's address. */
@Timeout(value = 75, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@WholeLedger
class RSocketIT {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final Duration CONNECTING = Duration.ofSeconds(10);
    /** How long a socket that nothing holds takes to close at most, by far. */
    private static final Duration NOT_HELD = Duration.ofSeconds(10);

    /** Longer than soft-RoCE holds the memory of a connection that ends while something comes in. */
    private static final Duration CLOSING = Duration.ofSeconds(80);

    private ExecutorService peer;
    private List<NativeResource> before;

    @BeforeEach
    void startPeer() {
        before = Ledger.live();
        peer = Executors.newSingleThreadExecutor();
    }

    @AfterEach
    void nothingIsLeft() throws InterruptedException {
        peer.shutdownNow();
        assertThat(peer.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
        // Only what this test has left: with what one before it has, only that one fails.
        List<NativeResource> left = Ledger.live().stream()
                .filter(each -> !before.contains(each))
                .filter(each -> Set.of("rsocket", "iomap").contains(each.kind()))
                .toList();
        assertThat(left).as(Ledger.describe(left)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 63, 64, 65, 2048, 65_537, 131_072, 1 << 20, 5_000_011})
    void carriesEveryByteInBothDirections(int size) throws Exception {
        try (Pair pair = Pair.connect(address());
                Arena arena = Arena.ofShared()) {
            MemorySegment sent = arena.allocate(size);
            MemorySegment received = arena.allocate(size);
            for (int round = 0; round < 3; round++) {
                pattern(sent, round);
                Future<?> sender = submit(() -> pair.client.sendFully(sent, LONG));
                pair.server.receiveFully(received, LONG);
                sender.get(20, TimeUnit.SECONDS);
                assertThat(received.mismatch(sent)).isEqualTo(-1);

                pattern(sent, round + 100);
                sender = submit(() -> pair.server.sendFully(sent, LONG));
                pair.client.receiveFully(received, LONG);
                sender.get(20, TimeUnit.SECONDS);
                assertThat(received.mismatch(sent)).isEqualTo(-1);
            }
        }
    }

    @Test
    void carriesHeapSegmentsAndByteBuffersOfBothKinds() throws Exception {
        byte[] data = new byte[200_000];
        pattern(MemorySegment.ofArray(data), 7);
        try (Pair pair = Pair.connect(address())) {
            for (boolean direct : new boolean[] {true, false}) {
                ByteBuffer out = direct ? ByteBuffer.allocateDirect(data.length) : ByteBuffer.allocate(data.length);
                out.put(data).flip();
                ByteBuffer in = direct ? ByteBuffer.allocateDirect(data.length) : ByteBuffer.allocate(data.length);
                Future<?> sender = submit(() -> pair.client.sendFully(out, LONG));
                pair.server.receiveFully(in, LONG);
                sender.get(20, TimeUnit.SECONDS);
                assertThat(out.remaining()).isZero();
                assertThat(in.remaining()).isZero();
                assertThat(in.flip()).isEqualTo(out.flip());
            }
            ByteBuffer readOnly = ByteBuffer.allocate(4).asReadOnlyBuffer();
            assertThatIllegalArgumentException().isThrownBy(() -> pair.server.receive(readOnly, SHORT));
        }
    }

    @Test
    void peeksWithoutTakingAndReturnsAtOnceWhenToldNotToWait() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            ByteBuffer in = ByteBuffer.allocateDirect(16);
            assertThat(pair.server.receive(in, LONG, MessageFlag.DONTWAIT)).isZero();
            pair.client.sendFully(ascii("peek"), LONG);
            assertThat(pair.server.receive(in, LONG, MessageFlag.PEEK)).isEqualTo(4);
            assertThat(pair.server.receive(in, LONG)).isEqualTo(4);
            assertThat(StandardCharsets.US_ASCII.decode(in.flip()).toString()).isEqualTo("peekpeek");
        }
    }

    @Test
    void sendsOnAfterThePeerHasShutDownItsHalf() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            pair.client.sendFully(ascii("last words"), LONG);
            pair.client.shutdown(Shutdown.WRITE);

            ByteBuffer in = ByteBuffer.allocateDirect(64);
            assertThat(pair.server.receive(in, LONG, MessageFlag.WAITALL)).isEqualTo(10);
            assertThat(pair.server.receive(in, LONG)).isEqualTo(-1);

            pair.server.sendFully(ascii("answer"), LONG);
            ByteBuffer answer = ByteBuffer.allocateDirect(6);
            pair.client.receiveFully(answer, LONG);
            assertThat(StandardCharsets.US_ASCII.decode(answer.flip()).toString())
                    .isEqualTo("answer");

            assertThatThrownBy(() -> pair.client.sendFully(ascii("more"), LONG))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("rsend(")
                    .hasMessageContaining("EPIPE");
        }
    }

    @Test
    @Timeout(value = 150, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void deliversWhatIsUnderWayAndThenTheEndWhenThePeerCloses() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            pair.client.sendFully(ascii("good bye"), LONG);
            Future<?> closing = submit(pair.client::close);
            MemorySegment in = MemorySegment.ofArray(new byte[9]);
            assertThatThrownBy(() -> pair.server.receiveFully(in, LONG))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("ended after 8 of 9 bytes");
            closing.get(CLOSING.toSeconds(), TimeUnit.SECONDS);
            assertThatThrownBy(() -> pair.server.sendFully(ascii("anyone?"), LONG))
                    .isInstanceOfSatisfying(
                            RdmaException.class,
                            e -> assertThat(e.errnoName()).isIn("ECONNRESET", "EPIPE", "ENOTCONN"));
        }
    }

    // With soft-RoCE the kernel holds one of some such connections for 50 s when it is closed. That one is enough.
    @Test
    @Timeout(value = 150, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @Tag("slow")
    void closesWhileThePeerSends() throws Exception {
        Duration took = Duration.ZERO;
        for (int round = 0; round < 50 && took.compareTo(NOT_HELD) < 0; round++) {
            try (Pair pair = Pair.connect(address())) {
                Future<?> sending = submit(() -> sendUntilTheConnectionEnds(pair.server));
                pair.client.receiveFully(MemorySegment.ofArray(new byte[6400]), LONG);
                long begin = System.nanoTime();
                pair.client.close();
                took = Duration.ofNanos(System.nanoTime() - begin);
                sending.get(20, TimeUnit.SECONDS);
            }
        }
        assertThat(took).isLessThan(CLOSING);
    }

    private static void sendUntilTheConnectionEnds(RSocket socket) {
        MemorySegment data = MemorySegment.ofArray(new byte[64]);
        try {
            while (true) {
                socket.sendFully(data, LONG);
            }
        } catch (RdmaException e) {
            assertThat(e.errnoName()).isIn("ECONNRESET", "EPIPE", "ENOTCONN");
        }
    }

    // librdmacm's thread for connections would mix up more than three sockets, in a table that it has given back.
    @Test
    void manyConnectTalkAndCloseAtTheSameTime() throws Exception {
        int count = 8;
        try (RSocket listener = listener(address());
                ExecutorService clients = Executors.newFixedThreadPool(count);
                ExecutorService servers = Executors.newFixedThreadPool(count)) {
            List<Future<?>> ended = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                ended.add(clients.submit(() -> {
                    try (RSocket client = RSocket.stream()) {
                        client.connect(listener.localAddress(), LONG);
                        client.sendFully(ascii("hello"), LONG);
                        assertThat(received(client)).isEqualTo("HELLO");
                    }
                }));
            }
            for (int i = 0; i < count; i++) {
                RSocket accepted = listener.accept(LONG);
                ended.add(servers.submit(() -> {
                    try (accepted) {
                        assertThat(received(accepted)).isEqualTo("hello");
                        accepted.sendFully(ascii("HELLO"), LONG);
                    }
                }));
            }
            for (Future<?> each : ended) {
                each.get(20, TimeUnit.SECONDS);
            }
        }
    }

    private static String received(RSocket socket) {
        byte[] bytes = new byte[5];
        socket.receiveFully(MemorySegment.ofArray(bytes), LONG);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    @Test
    void refusesMoreSocketsThanTheLibraryWasPreparedFor() {
        List<RSocket> open = new ArrayList<>();
        try {
            for (int i = 0; i < 63; i++) {
                open.add(RSocket.stream());
            }
            assertThatThrownBy(RSocket::stream)
                    .isInstanceOf(RdmaException.class)
                    .hasMessage("all 63 rsockets that librdmacm was prepared for are open: close one, or start the JVM"
                            + " with -Drdma.rsockets=127");
            open.removeLast().close();
            open.add(RSocket.stream());
        } finally {
            open.forEach(RSocket::close);
        }
    }

    @Test
    void saysThatNoOneListens() throws Exception {
        try (RSocket socket = RSocket.stream()) {
            InetSocketAddress nobody = new InetSocketAddress(address(), 7999);
            assertThatThrownBy(() -> socket.connect(nobody, LONG))
                    .isInstanceOfSatisfying(
                            RdmaException.class, e -> assertThat(e.errnoName()).isEqualTo("ECONNREFUSED"))
                    .hasMessageContaining("rconnect(")
                    .hasMessageContaining(":7999")
                    .hasMessageContaining("No listener at");
        }
    }

    @Test
    void everyWaitEndsAtItsDeadline() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            assertThatThrownBy(() -> pair.listener.accept(SHORT)).isInstanceOf(RdmaTimeoutException.class);
            MemorySegment in = MemorySegment.ofArray(new byte[10]);
            pair.client.sendFully(ascii("abc"), LONG);
            assertThatThrownBy(() -> pair.server.receiveFully(in, SHORT))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("within 200 ms")
                    .hasMessageContaining("3 of 10 bytes were received");
            MemorySegment tooMuch = MemorySegment.ofArray(new byte[8 << 20]);
            long begin = System.nanoTime();
            assertThatThrownBy(() -> pair.client.sendFully(tooMuch, SHORT))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("of 8388608 bytes were sent");
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(5));
        }
    }

    /** The waits of librdmacm's rpoll hang for good once one has timed out and another socket has an event. */
    @Test
    void waitsStillEndAfterOthersTimedOutAndOtherSocketsHadEvents() throws Exception {
        try (Pair idle = Pair.connect(address())) {
            for (int round = 0; round < 3; round++) {
                ByteBuffer in = ByteBuffer.allocateDirect(1);
                assertThatThrownBy(() -> idle.server.receive(in, SHORT)).isInstanceOf(RdmaTimeoutException.class);
                Future<?> receiving = submit(() -> {
                    int ignored = idle.client.receive(ByteBuffer.allocateDirect(1), LONG);
                });
                try (Pair busy = Pair.connect(address())) {
                    busy.client.sendFully(ascii("x"), LONG);
                    busy.server.receiveFully(ByteBuffer.allocateDirect(1), LONG);
                }
                assertThatThrownBy(() -> idle.listener.accept(SHORT)).isInstanceOf(RdmaTimeoutException.class);
                idle.server.sendFully(ascii("y"), LONG);
                receiving.get(20, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void aKilledPeerEndsTheStreamAsAClosingOneDoes() throws Exception {
        assumeTrue(rstreamIsInstalled(), "peer absent: rstream is not installed (Debian: rdmacm-utils)");
        try (RSocket listener = listener(address())) {
            Process rstream = rstream(listener, 64, 1, 1000);
            try (RSocket socket = listener.accept(LONG)) {
                socket.receiveFully(ByteBuffer.allocateDirect(16), LONG);
                assertThat(rstream.destroyForcibly().waitFor(20, TimeUnit.SECONDS))
                        .isTrue();
                // Its kernel disconnects for it.
                assertThat(socket.receive(ByteBuffer.allocateDirect(64), LONG)).isEqualTo(-1);
                assertThatThrownBy(() -> socket.send(ascii("x"), SHORT))
                        .isInstanceOf(RdmaException.class)
                        .hasMessageContaining("ECONNRESET");
            } finally {
                rstream.destroyForcibly();
            }
        }
    }

    @Test
    void readsBackItsOptions() throws Exception {
        try (RSocket socket = RSocket.stream()) {
            socket.sendBufferSize(512 << 10)
                    .receiveBufferSize(256 << 10)
                    .noDelay(true)
                    .reuseAddress(true)
                    .inline(128)
                    .sendQueueSize(100)
                    .receiveQueueSize(200)
                    .ioMapSize(2);
            // Doubled by librdmacm, as Linux does for TCP.
            assertThat(socket.sendBufferSize()).isEqualTo(1024 << 10);
            assertThat(socket.receiveBufferSize()).isEqualTo(512 << 10);
            assertThat(socket.noDelay()).isTrue();
            assertThat(socket.reuseAddress()).isTrue();
            assertThat(socket.inline()).isEqualTo(128);
            assertThat(socket.sendQueueSize()).isEqualTo(100);
            assertThat(socket.receiveQueueSize()).isEqualTo(200);
            assertThat(socket.ioMapSize()).isGreaterThanOrEqualTo(2);
            assertThat(socket.keepAlive()).isEqualTo(Duration.ZERO);
            assertThat(socket.keepAlive(Duration.ofSeconds(30)).keepAlive()).isEqualTo(Duration.ofSeconds(30));
            assertThat(socket.keepAlive(Duration.ZERO).keepAlive()).isEqualTo(Duration.ZERO);
        }
        try (Pair pair = Pair.connect(address())) {
            assertThatThrownBy(() -> pair.client.sendQueueSize(64))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("RDMA_SQSIZE");
        }
    }

    @Test
    void knowsBothAddresses() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            assertThat(pair.client.remoteAddress()).isEqualTo(pair.listener.localAddress());
            assertThat(pair.server.remoteAddress()).isEqualTo(pair.client.localAddress());
            assertThat(pair.client.remoteAddress().getAddress()).isEqualTo(address());
        }
    }

    @Test
    void worksOverIpv6() throws Exception {
        InetAddress six = addresses().stream()
                .filter(address -> address.getAddress().length == 16 && !address.isLinkLocalAddress())
                .findFirst()
                .orElse(null);
        assumeTrue(six != null, "unsupported by the device: its network interface has no routable IPv6 address");
        try (Pair pair = Pair.connect(six)) {
            pair.client.sendFully(ascii("six"), LONG);
            MemorySegment in = MemorySegment.ofArray(new byte[3]);
            pair.server.receiveFully(in, LONG);
            assertThat(new String(in.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII))
                    .isEqualTo("six");
            assertThat(pair.client.remoteAddress().getAddress()).isEqualTo(six);
        }
    }

    @Test
    void writesIntoThePeersMappedMemory() throws Exception {
        byte[] data = new byte[4096];
        pattern(MemorySegment.ofArray(data), 3);
        try (Pair pair = Pair.connect(address())) {
            assertThatThrownBy(() -> pair.client.ioWrite(MemorySegment.ofArray(data), 1 << 20, SHORT))
                    .isInstanceOf(RuntimeException.class);
            try (IoMapping mapping = pair.server.ioMap(8192, 0)) {
                assertThat(mapping.offset()).isZero();
                pair.server.sendFully(ascii("m"), LONG);
                pair.client.receiveFully(ByteBuffer.allocateDirect(1), LONG);
                pair.client.ioWrite(MemorySegment.ofArray(data), 1024, LONG);
                pair.client.sendFully(ascii("w"), LONG);
                pair.server.receiveFully(ByteBuffer.allocateDirect(1), LONG);
                assertThat(mapping.bytes().asSlice(1024, data.length).toArray(ValueLayout.JAVA_BYTE))
                        .isEqualTo(data);
                assertThatIllegalStateException().isThrownBy(pair.server::close).withMessageContaining("iomap 0+8192");
            }
        }
    }

    @Test
    void closingEndsAnotherThreadsWait() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            Future<?> waiting = submit(() -> {
                int ignored = pair.server.receive(ByteBuffer.allocateDirect(1), LONG);
            });
            pair.server.close();
            assertThatThrownBy(() -> waiting.get(10, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is closed");
            pair.server.close();
            assertThatIllegalStateException().isThrownBy(() -> pair.server.send(ascii("x"), SHORT));
        }
    }

    @Test
    void anInterruptEndsAWait() throws Exception {
        try (Pair pair = Pair.connect(address())) {
            Thread.currentThread().interrupt();
            try {
                assertThatThrownBy(() -> pair.server.receive(ByteBuffer.allocateDirect(1), LONG))
                        .isInstanceOf(RdmaException.class)
                        .hasMessageContaining("interrupted");
            } finally {
                assertThat(Thread.interrupted()).isTrue();
            }
        }
    }

    @Test
    void refusesWhatMakesNoSense() throws Exception {
        try (RSocket socket = RSocket.stream()) {
            assertThatIllegalArgumentException().isThrownBy(() -> socket.listen(0));
            assertThatIllegalArgumentException().isThrownBy(() -> socket.keepAlive(Duration.ofMillis(10)));
            assertThatIllegalArgumentException().isThrownBy(() -> socket.send(ascii("x"), SHORT, MessageFlag.PEEK));
            // librdmacm would follow a null pointer here.
            assertThatThrownBy(() -> socket.send(ascii("x"), SHORT))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("ENOTCONN");
            assertThatThrownBy(() -> socket.listen(1)).isInstanceOf(RdmaException.class);
            assertThatThrownBy(() -> socket.receive(ByteBuffer.allocateDirect(1), SHORT))
                    .isInstanceOf(RdmaException.class);
            assertThatThrownBy(() -> socket.shutdown(Shutdown.BOTH)).isInstanceOf(RdmaException.class);
            assertThatThrownBy(() -> socket.accept(SHORT)).isInstanceOf(RdmaException.class);
            assertThatThrownBy(socket::remoteAddress).isInstanceOf(RdmaException.class);
            assertThatThrownBy(() -> socket.ioMap(64, 0)).isInstanceOf(RdmaException.class);
            assertThatThrownBy(() -> socket.bind(new InetSocketAddress("192.0.2.1", 0)))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("192.0.2.1");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 1000, 65_536})
    void speaksWithTheCProgramRstreamThatVerifiesToo(int size) throws Exception {
        assumeTrue(rstreamIsInstalled(), "peer absent: rstream is not installed (Debian: rdmacm-utils)");
        int iterations = 3;
        int transfers = 5;
        try (RSocket listener = listener(address())) {
            Process rstream = rstream(listener, size, iterations, transfers);
            try (RSocket socket = listener.accept(LONG)) {
                Counter sent = new Counter();
                Counter received = new Counter();
                received.check(socket, 16);
                sent.send(socket, 16);
                for (int i = 0; i < iterations; i++) {
                    for (int t = 0; t < transfers; t++) {
                        received.check(socket, size);
                    }
                    for (int t = 0; t < transfers; t++) {
                        sent.send(socket, size);
                    }
                }
                socket.shutdown(Shutdown.BOTH);
                assertThat(rstream.waitFor(20, TimeUnit.SECONDS)).isTrue();
                String output = new String(rstream.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertThat(rstream.exitValue()).as(output).isZero();
                assertThat(output).contains("custom").doesNotContain("data verification failed");
            } finally {
                rstream.destroyForcibly();
            }
        }
    }

    private static boolean rstreamIsInstalled() {
        return List.of(System.getenv("PATH").split(":")).stream()
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "rstream")));
    }

    /** Starts the C program as a client that verifies. */
    private static Process rstream(RSocket listener, int size, int iterations, int transfers) throws IOException {
        InetSocketAddress at = listener.localAddress();
        return new ProcessBuilder(
                        "rstream",
                        "-s",
                        at.getAddress().getHostAddress(),
                        "-p",
                        Integer.toString(at.getPort()),
                        "-T",
                        "v",
                        "-S",
                        Integer.toString(size),
                        "-I",
                        Integer.toString(iterations),
                        "-C",
                        Integer.toString(transfers))
                .redirectErrorStream(true)
                .start();
    }

    /** The running counter that rstream fills its transfers with when it verifies. */
    private static final class Counter {
        private byte next;

        void send(RSocket socket, int size) {
            byte[] data = new byte[size];
            for (int i = 0; i < size; i++) {
                data[i] = next++;
            }
            socket.sendFully(ByteBuffer.wrap(data), LONG);
        }

        void check(RSocket socket, int size) {
            byte[] data = new byte[size];
            socket.receiveFully(ByteBuffer.wrap(data), LONG);
            for (int i = 0; i < size; i++) {
                byte expected = next++;
                if (data[i] != expected) {
                    throw new AssertionError("byte " + i + " of " + size + " is " + data[i] + ", not " + expected);
                }
            }
        }
    }

    private interface Action {
        void run() throws Exception;
    }

    private Future<?> submit(Action action) {
        Callable<Void> task = () -> {
            action.run();
            return null;
        };
        return peer.submit(task);
    }

    private static ByteBuffer ascii(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static void pattern(MemorySegment segment, int seed) {
        for (long i = 0; i < segment.byteSize(); i++) {
            segment.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + (i >> 8) + seed));
        }
    }

    /** The addresses of the interfaces that have an RDMA device: those in a GID table. Once: it reads some thousand files. */
    private static final class Addresses {
        static final List<InetAddress> FOUND = find();

        private static List<InetAddress> find() {
            Set<InetAddress> gids = entries(Path.of("/sys/class/infiniband"))
                    .flatMap(device -> entries(device.resolve("ports")))
                    .flatMap(port -> entries(port.resolve("gids")))
                    .map(RSocketIT::gid)
                    .collect(Collectors.toSet());
            try {
                return NetworkInterface.networkInterfaces()
                        .flatMap(NetworkInterface::inetAddresses)
                        .filter(address -> gids.contains(address) && !address.isLoopbackAddress())
                        .toList();
            } catch (SocketException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static Stream<Path> entries(Path folder) {
            try (Stream<Path> entries = Files.list(folder)) {
                return entries.toList().stream();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static List<InetAddress> addresses() {
        assertThat(Addresses.FOUND).as("addresses with an RDMA device").isNotEmpty();
        return Addresses.FOUND;
    }

    private static InetAddress address() {
        return addresses().stream()
                .filter(address -> address.getAddress().length == 4)
                .findFirst()
                .orElseThrow();
    }

    private static InetAddress gid(Path file) {
        try {
            return InetAddress.getByAddress(
                    InetAddress.ofLiteral(Files.readString(file).strip()).getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        } catch (IOException e) {
            // An empty slot of the table can't be read.
            return InetAddress.getLoopbackAddress();
        }
    }

    private static StandardProtocolFamily family(InetAddress address) {
        return address.getAddress().length == 4 ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
    }

    private static RSocket listener(InetAddress address) {
        RSocket listener = RSocket.stream(family(address));
        listener.ioMapSize(2).bind(new InetSocketAddress(address, 0));
        listener.listen(4);
        return listener;
    }

    /** A connection with both ends in this JVM. */
    private record Pair(RSocket listener, RSocket client, RSocket server) implements AutoCloseable {

        static Pair connect(InetAddress address) throws Exception {
            try (Closer made = new Closer();
                    ExecutorService connector = Executors.newSingleThreadExecutor()) {
                RSocket listener = made.own(RSocketIT.listener(address));
                RSocket client = made.own(RSocket.stream(family(address)));
                client.ioMapSize(2);
                Future<?> connecting = connector.submit(() -> client.connect(listener.localAddress(), CONNECTING));
                RSocket server = made.own(accept(listener, connecting));
                connecting.get(20, TimeUnit.SECONDS);
                made.keep();
                return new Pair(listener, client, server);
            }
        }

        /** Accepts; if that fails, the failure says what came of connecting. */
        private static RSocket accept(RSocket listener, Future<?> connecting) throws Exception {
            try {
                return listener.accept(CONNECTING);
            } catch (RuntimeException e) {
                try {
                    Object ignored = connecting.get(20, TimeUnit.SECONDS);
                } catch (ExecutionException connect) {
                    e.addSuppressed(connect);
                }
                throw e;
            }
        }

        /** Closes the server's end first, and each even if another can't be closed. */
        @Override
        public void close() {
            try (Closer all = new Closer()) {
                all.own(listener);
                all.own(client);
                all.own(server);
            }
        }
    }
}
