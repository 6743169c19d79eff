package io.rdmatest.peer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.rdmatest.Deadline;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One side of the channel. It reads and writes messages, one a line, and sends and checks heartbeats.
 *
 * <p>The first message in each direction is a hello. This side sends nothing before its own hello. Three threads: one
 * reads; one writes, so that senders never wait; one watches the clock, since the other two may block in a pipe.
 */
final class Wire {

    /** The protocol version. Raise it with every change that an older side does not understand. */
    static final int VERSION = 2;

    /** The beginning of a hello. Other text may precede it on the line, for example a shell's greeting. */
    private static final String HELLO = "{\"type\":\"hello\"";

    private static final int LONGEST_LINE = 64 << 20;
    private static final int LONGEST_BANNER = 1 << 20;
    private static final int QUOTED = 200;
    private static final int BUFFER = 1 << 16;

    static final ObjectMapper MAPPER = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxStringLength(LONGEST_LINE)
                            .build())
                    .build())
            // ASCII only: neither side's character set matters, and unpaired surrogates pass.
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .build();

    /** How a channel ended. */
    record Ending(PeerLostException.Reason reason, String words) {}

    /** Receives the events of the channel, on its threads. The end is the last event. */
    interface Listener {

        /** Takes a line before the other side's hello. */
        void banner(String line) throws IOException;

        /** Takes the other side's hello, of the right version. */
        void greeted(PeerMessage.Hello hello);

        /** Takes a message. */
        void received(PeerMessage message);

        /** Takes the end of the channel. Called once. */
        void ended(Ending ending);
    }

    private final String name;
    private final InputStream in;
    private final OutputStream out;
    private final PeerSettings settings;
    private final boolean follows;
    private final Listener listener;
    private final BlockingQueue<PeerMessage> outgoing = new LinkedBlockingQueue<>();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Thread reader;
    private final Thread writer;
    private final Thread watch;

    private volatile long lastHeard = System.nanoTime();
    private volatile long patience;
    private volatile long heartbeatMillis;
    private volatile boolean greeted;
    private volatile boolean stopped;

    /** The bytes since the last newline; its methods are synchronized. */
    private volatile ByteArrayOutputStream unfinished = new ByteArrayOutputStream();

    /** Marks the end of the queue; it is never sent. */
    private static final PeerMessage LAST = new PeerMessage.Bye("last");

    /**
     * Prepares a channel.
     *
     * @param follows whether to adopt the heartbeat and patience of the other side's hello
     */
    Wire(String name, InputStream in, OutputStream out, PeerSettings settings, boolean follows, Listener listener) {
        this.name = name;
        this.follows = follows;
        this.heartbeatMillis = settings.heartbeat().toMillis();
        this.in = new BufferedInputStream(new Listening(in), BUFFER);
        this.out = new BufferedOutputStream(out, BUFFER);
        this.settings = settings;
        this.listener = listener;
        this.patience = settings.start().toNanos();
        this.reader = thread("reader", this::read);
        this.writer = thread("writer", this::write);
        this.watch = thread("watch", this::watch);
    }

    private Thread thread(String task, Runnable body) {
        return Thread.ofPlatform()
                .name("rdma-peer-" + name + "-" + task)
                .daemon(true)
                .unstarted(body);
    }

    /** Begins to read. Nothing is sent before {@link #greet}. */
    void open() {
        lastHeard = System.nanoTime();
        reader.start();
        watch.start();
    }

    /** Sends the hello and begins to write. */
    void greet() {
        outgoing.add(new PeerMessage.Hello(
                VERSION,
                ProcessHandle.current().pid(),
                host(),
                settings.heartbeat().toMillis(),
                settings.patience().toMillis()));
        writer.start();
    }

    /** Queues a message. Never waits. Messages after the end are dropped. */
    void send(PeerMessage message) {
        if (!ended.get() && !stopped) {
            outgoing.add(message);
        }
    }

    /** Closes this direction after all queued messages. Never waits. */
    void finish() {
        stopped = true;
        outgoing.add(LAST);
    }

    /** Stops reading and watching. The owner of the pipes closes them. */
    void stop() {
        ended.set(true);
        finish();
        watch.interrupt();
    }

    /** Waits until all threads of the channel have ended. */
    boolean join(Duration most) {
        Deadline deadline = Deadline.after(most);
        boolean ended = true;
        for (Thread thread : new Thread[] {reader, writer, watch}) {
            ended &= thread != Thread.currentThread() && deadline.join(thread, () -> {});
        }
        return ended;
    }

    /** Returns the text since the last newline; may be empty. */
    String unfinished() {
        return unfinished.toString(StandardCharsets.UTF_8);
    }

    /** Ends the channel, unless it has ended. */
    void end(PeerLostException.Reason reason, String words) {
        if (ended.compareAndSet(false, true)) {
            finish();
            listener.ended(new Ending(reason, words));
        }
    }

    // ---- reading ----

    /** Counts every byte as a sign of life, also in the middle of a long line. */
    private final class Listening extends InputStream {
        private final InputStream source;

        Listening(InputStream source) {
            this.source = source;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            int count = source.read(bytes, offset, length);
            lastHeard = System.nanoTime();
            return count;
        }
    }

    private void read() {
        int skipped = 0;
        try (in) {
            while (!ended.get()) {
                String line = readLine(greeted ? LONGEST_LINE : LONGEST_BANNER);
                if (line == null) {
                    end(PeerLostException.Reason.ENDED, "closed the channel");
                    return;
                }
                if (greeted) {
                    listen(line);
                } else if (!hello(line)) {
                    skipped += line.length() + 1;
                    if (skipped > LONGEST_BANNER) {
                        end(
                                PeerLostException.Reason.GARBAGE,
                                "sent " + skipped + " characters but no hello; they begin with " + quote(line));
                        return;
                    }
                    listener.banner(line);
                }
            }
        } catch (IOException e) {
            end(PeerLostException.Reason.ENDED, "can't be read any more: " + e.getMessage());
        } catch (RuntimeException e) {
            end(PeerLostException.Reason.GARBAGE, "sent a message that can't be processed: " + e);
        }
    }

    /** Returns the next line, at most {@code longest} bytes of it; null at the end of the stream. */
    private @Nullable String readLine(int longest) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        unfinished = line;
        while (true) {
            int next = in.read();
            if (next < 0) {
                return null;
            }
            if (next == '\n') {
                unfinished = new ByteArrayOutputStream();
                return line.toString(StandardCharsets.UTF_8);
            }
            line.write(next);
            if (line.size() > longest) {
                if (!greeted) {
                    return line.toString(StandardCharsets.UTF_8);
                }
                throw new IOException("a line is longer than " + LONGEST_LINE + " bytes");
            }
        }
    }

    /** Returns whether a line has the hello. Text before the hello is a banner of a shell or launcher. */
    private boolean hello(String line) throws IOException {
        int start = line.indexOf(HELLO);
        if (start < 0) {
            return false;
        }
        if (start > 0) {
            listener.banner(line.substring(0, start));
        }
        JsonNode tree;
        try {
            tree = MAPPER.readTree(line.substring(start));
        } catch (JsonProcessingException e) {
            end(PeerLostException.Reason.GARBAGE, "sent a hello that can't be parsed: " + quote(line.substring(start)));
            return true;
        }
        int version = tree.path("version").asInt(0);
        if (version != VERSION) {
            end(
                    PeerLostException.Reason.VERSION,
                    "has protocol version " + version + ", and this side has version " + VERSION
                            + ": install the same rdmatest on both sides");
            return true;
        }
        PeerMessage.Hello hello;
        try {
            hello = MAPPER.treeToValue(tree, PeerMessage.Hello.class);
        } catch (JsonProcessingException e) {
            end(PeerLostException.Reason.GARBAGE, "sent an invalid hello: " + quote(line));
            return true;
        }
        if (follows) {
            heartbeatMillis = Math.max(1, hello.heartbeatMillis());
        }
        // A side with a long heartbeat must not count as lost.
        patience = Math.max(
                follows
                        ? TimeUnit.MILLISECONDS.toNanos(hello.patienceMillis())
                        : settings.patience().toNanos(),
                3 * TimeUnit.MILLISECONDS.toNanos(hello.heartbeatMillis()));
        greeted = true;
        listener.greeted(hello);
        return true;
    }

    private void listen(String line) {
        PeerMessage message;
        try {
            message = MAPPER.readValue(line, PeerMessage.class);
        } catch (JsonProcessingException e) {
            end(
                    PeerLostException.Reason.GARBAGE,
                    "sent a line that is not a message: " + quote(line) + "; standard output is the channel, and"
                            + " nothing else may write to it");
            return;
        }
        if (!(message instanceof PeerMessage.Heartbeat)) {
            listener.received(message);
        }
    }

    private static String quote(String line) {
        return '"' + (line.length() <= QUOTED ? line : line.substring(0, QUOTED) + "…") + '"';
    }

    // ---- writing ----

    private void write() {
        try (out) {
            while (true) {
                PeerMessage message = outgoing.poll(heartbeatMillis, TimeUnit.MILLISECONDS);
                if (message == LAST) {
                    return;
                }
                out.write(MAPPER.writeValueAsString(message == null ? new PeerMessage.Heartbeat() : message)
                        .getBytes(StandardCharsets.US_ASCII));
                out.write('\n');
                if (outgoing.isEmpty()) {
                    out.flush();
                }
            }
        } catch (JsonProcessingException e) {
            end(
                    PeerLostException.Reason.GARBAGE,
                    "was to get a message that can't be serialized: " + e.getOriginalMessage());
        } catch (IOException e) {
            end(PeerLostException.Reason.ENDED, "does not read any more: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            end(PeerLostException.Reason.ENDED, "can't be written to any more: the writing thread was interrupted");
        }
    }

    // ---- watching ----

    private void watch() {
        long looked = System.nanoTime();
        try {
            while (!ended.get()) {
                synchronized (this) {
                    wait(Math.max(1, heartbeatMillis / 2));
                }
                long now = System.nanoTime();
                if (now - looked > patience / 2) {
                    // This process itself was stopped, and has not yet read what arrived meanwhile.
                    lastHeard = now;
                }
                looked = now;
                long silent = now - lastHeard;
                if (silent > patience) {
                    end(
                            PeerLostException.Reason.SILENT,
                            greeted
                                    ? "has sent nothing for " + TimeUnit.NANOSECONDS.toMillis(silent)
                                            + " ms: the node or the connection to it hangs"
                                    : "did not say hello within " + TimeUnit.NANOSECONDS.toMillis(silent) + " ms");
                }
            }
        } catch (InterruptedException e) {
            // The channel is closed.
        }
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "unknown";
        }
    }
}
