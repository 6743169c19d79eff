package io.rdmatest.peer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
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
 * One side of the channel: reads and writes messages, a line each, and looks after the signs of life in both directions.
 *
 * <p>The first message in each direction is a hello; until this side has sent its own, it is silent. Three threads: one reads,
 * one writes (so that whoever sends never waits), one watches the clock, for either of the others may be stuck in a pipe.
 */
final class Wire {

    /** The version of the messages. To be raised with every change that an older side does not understand. */
    static final int VERSION = 1;

    /** What a hello begins with. Whatever is on the way to the agent may have begun the line, as a shell's greeting does. */
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
            // Neither side's character set matters, nor whether a text is one in Unicode's eyes.
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .build();

    /** How a channel ended. */
    record Ending(PeerLostException.Reason reason, String words) {}

    /** What a side does with what comes. Called by the threads of the channel; nothing comes after the end. */
    interface Listener {

        /** Takes a line that came before the other side's hello. */
        void banner(String line) throws IOException;

        /** Takes the other side's hello, of the right version. */
        void greeted(PeerMessage.Hello hello);

        /** Takes a message. */
        void received(PeerMessage message);

        /** Learns, once, that nothing more comes. */
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

    /** What came since the last end of a line; its methods are synchronized. */
    private volatile ByteArrayOutputStream unfinished = new ByteArrayOutputStream();

    /** Nothing is written after this; it is never sent. */
    private static final PeerMessage LAST = new PeerMessage.Bye("last");

    /**
     * Prepares a channel.
     *
     * @param follows whether the times are those of the other side, once it has said hello
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

    /** Begins to listen. Nothing is sent before {@link #greet}. */
    void open() {
        lastHeard = System.nanoTime();
        reader.start();
        watch.start();
    }

    /** Says hello, and from then on what is sent. */
    void greet() {
        outgoing.add(new PeerMessage.Hello(
                VERSION,
                ProcessHandle.current().pid(),
                host(),
                settings.heartbeat().toMillis(),
                settings.patience().toMillis()));
        writer.start();
    }

    /** Sends a message after all those before it. Never waits; what is sent after the end is dropped. */
    void send(PeerMessage message) {
        if (!ended.get() && !stopped) {
            outgoing.add(message);
        }
    }

    /** Sends what was to be sent, and then closes this direction. Never waits. */
    void finish() {
        stopped = true;
        outgoing.add(LAST);
    }

    /** Stops listening to what comes from now on, and watching; the ends of the pipes come from whoever holds them. */
    void stop() {
        ended.set(true);
        finish();
        watch.interrupt();
    }

    /** Waits until no thread of the channel is left. */
    boolean join(Duration most) {
        long deadline = System.nanoTime() + most.toNanos();
        boolean interrupted = false;
        for (Thread thread : new Thread[] {reader, writer, watch}) {
            while (thread != Thread.currentThread() && thread.isAlive() && deadline - System.nanoTime() > 0) {
                try {
                    thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return !reader.isAlive() && !writer.isAlive() && !watch.isAlive();
    }

    /** Returns what came since the last end of a line; may be empty. */
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

    /** Whatever comes is a sign of life, also the middle of a long line. */
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
                                "said " + skipped + " characters and never hello, which began with " + quote(line));
                        return;
                    }
                    listener.banner(line);
                }
            }
        } catch (IOException e) {
            end(PeerLostException.Reason.ENDED, "can't be heard any more: " + e.getMessage());
        } catch (RuntimeException e) {
            end(PeerLostException.Reason.GARBAGE, "said something that can't be worked with: " + e);
        }
    }

    /** Returns the next line, or as much of it as is allowed before the hello; null at the end, also in the middle of a line. */
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

    /** Tells whether a line has the hello; everything before it is a banner of whatever is on the way to the agent. */
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
            end(PeerLostException.Reason.GARBAGE, "said a hello that can't be read: " + quote(line.substring(start)));
            return true;
        }
        int version = tree.path("version").asInt(0);
        if (version != VERSION) {
            end(
                    PeerLostException.Reason.VERSION,
                    "speaks version " + version + " of the messages, and this side version " + VERSION
                            + ": give both sides the same rdmatest");
            return true;
        }
        PeerMessage.Hello hello;
        try {
            hello = MAPPER.treeToValue(tree, PeerMessage.Hello.class);
        } catch (JsonProcessingException e) {
            end(PeerLostException.Reason.GARBAGE, "said a hello that is none: " + quote(line));
            return true;
        }
        if (follows) {
            heartbeatMillis = Math.max(1, hello.heartbeatMillis());
        }
        // A side that speaks seldom must not be taken for dead.
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
                    "said what is not a message: " + quote(line)
                            + "; standard output belongs to the channel, and nothing else may write there");
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
            end(PeerLostException.Reason.GARBAGE, "was to be told what can't be written: " + e.getOriginalMessage());
        } catch (IOException e) {
            end(PeerLostException.Reason.ENDED, "does not listen any more: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            end(PeerLostException.Reason.ENDED, "is not told anything any more: the writing thread was interrupted");
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
                    // This process was stopped itself, and has not read what was said meanwhile.
                    lastHeard = now;
                }
                looked = now;
                long silent = now - lastHeard;
                if (silent > patience) {
                    end(
                            PeerLostException.Reason.SILENT,
                            greeted
                                    ? "has said nothing for " + TimeUnit.NANOSECONDS.toMillis(silent)
                                            + " ms: it hangs, or the way to it does"
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
