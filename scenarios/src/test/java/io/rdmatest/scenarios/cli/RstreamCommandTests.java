package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.ExitStatus;
import java.io.BufferedReader;
import java.io.PipedReader;
import java.io.PipedWriter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both sides of rstream over plain TCP, which needs no device. */
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RstreamCommandTests {

    private static final String ROW = " -T s,v -S 3000 -C 5 --timeout 30s";

    private static int run(StringWriter out, StringWriter err, String line) {
        return Rdmatest.execute(
                new PrintWriter(out, true), new PrintWriter(err, true), ("rstream " + line).split(" +"));
    }

    /** The port of a client that is bound is that of the server, which may be here as well. */
    @Test
    void aLocalPortThatIsTakenIsNoMissingRoute() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
            StringWriter err = new StringWriter();
            int status = run(new StringWriter(), err, "-s 127.0.0.1 -b 127.0.0.1 -p " + taken.getLocalPort() + ROW);
            assertThat(status).as(err.toString()).isEqualTo(ExitStatus.HOST_NOT_READY.code());
            assertThat(err.toString()).contains("Can't bind to 127.0.0.1:" + taken.getLocalPort());
        }
    }

    @Test
    void aLocalAddressThatIsNotOfThisHostIsNamed() {
        StringWriter err = new StringWriter();
        int status = run(new StringWriter(), err, "-s 127.0.0.1 -b 192.0.2.7" + ROW);
        assertThat(status).as(err.toString()).isEqualTo(ExitStatus.HOST_NOT_READY.code());
        assertThat(err.toString()).contains("Can't bind to 192.0.2.7:7471");
    }

    @Test
    void aClientHasNoClients() {
        StringWriter err = new StringWriter();
        assertThat(run(new StringWriter(), err, "-s 127.0.0.1 -T v --clients 2"))
                .isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("--clients applies to servers only");
    }

    @Test
    void aServerOfManyEndsWithTheStatusOfAFailedClient() throws Exception {
        StringWriter out = new StringWriter();
        AtomicBoolean interrupted = new AtomicBoolean();
        try (PipedReader err = new PipedReader();
                BufferedReader lines = new BufferedReader(err);
                PrintWriter serverErr = new PrintWriter(new PipedWriter(err), true)) {
            CompletableFuture<Integer> server = CompletableFuture.supplyAsync(() -> Rdmatest.execute(
                    new PrintWriter(out, true),
                    serverErr,
                    interrupted::get,
                    false,
                    ("rstream -b 127.0.0.1 -p 0 --clients 0 --json" + ROW).split(" ")));
            String client = "-s 127.0.0.1 -p " + lines.readLine().replace("listening on port ", "") + ROW;
            StringWriter said = new StringWriter();
            assertThat(run(said, said, client)).as(said.toString()).isZero();
            assertThat(run(said, said, client + " --fault flip-payload-byte")).isNotZero();

            interrupted.set(true);

            assertThat(server.get(60, TimeUnit.SECONDS)).as(out.toString()).isEqualTo(1);
        }
        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertThat(json.get("status").asText()).isEqualTo("fabric failed");
        assertThat(json.get("exit").asInt()).isEqualTo(1);
        assertThat(json.get("message").asText())
                .contains("1 of 2 clients failed")
                .contains("wrong byte");
        assertThat(json.get("failures")).hasSize(1);
    }
}
