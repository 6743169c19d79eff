package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmatest.ExitStatus;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What the options of the programs are on an InfiniBand port, as its queue pairs receive it. The port is that of a library in the
 * place of libibverbs and librdmacm (harness-core/src/test/native), where no peer answers: it is no evidence for a fabric.
 */
@Timeout(300)
class InfinibandOptionsHostIT {

    private static final Path SCRIPT = Path.of("../harness-core/src/test/native/loopback.sh");
    private static final String LACKING = "0x8033";

    @TempDir
    static Path libraries;

    @TempDir
    Path folder;

    private record Ended(int status, String said, String record) {}

    @BeforeAll
    static void compile() throws Exception {
        Ended ended = end(
                new ProcessBuilder("sh", SCRIPT.toString(), libraries.toString()),
                libraries.resolve("said"),
                libraries.resolve("none"));
        if (ended.said().contains("No such file or directory") || ended.said().contains("not found")) {
            abort("unsupported by the host: there is no C compiler, or headers of rdma-core are missing: "
                    + ended.said());
        }
        assertThat(ended.status()).as(ended.said()).isZero();
    }

    /** Partition 0x8022 is at index 2 of the table. A native address is of the default partition, at index 0. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ucmatose | -f gid -s fe80::2:c903:0:1            | type=2 port=1 pkey_index=0",
                "udaddy   | -f gid -s fe80::2:c903:0:1            | type=4 port=1 pkey_index=0 qkey=0x1234567",
                "rping    | -c -a 192.0.2.1                       | type=2 port=1 pkey_index=2",
                "ucmatose | -s 192.0.2.1                          | type=2 port=1 pkey_index=2",
                "stream   | -s 192.0.2.1                          | type=2 port=1 pkey_index=2",
                "udaddy   | -s 192.0.2.1                          | type=4 port=1 pkey_index=2 qkey=0x1234567",
                "udaddy   | -s 192.0.2.1 -p ipoib                 | type=4 port=1 pkey_index=2 qkey=0xb1b",
                "mckey    | -m 239.1.2.3 -b 192.0.2.1             | type=4 port=1 pkey_index=2 qkey=0x1234567",
                "mckey    | -m 239.1.2.3 -b 192.0.2.1 -p ipoib    | type=4 port=1 pkey_index=2 qkey=0xb1b",
            })
    void anAddressAndAPortSpaceReachTheQueuePair(String program, String options, String received) throws Exception {
        Ended ended = run("0x8022", program, options);
        assertThat(ended.status()).as(ended.said()).isEqualTo(ExitStatus.PEER_ABSENT.code());
        assertThat(ended.record().lines().findFirst())
                .as(ended.said())
                .hasValueSatisfying(line -> assertThat(line).startsWith("INIT " + received));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rping    | -c -a 192.0.2.1",
                "ucmatose | -s 192.0.2.1",
                "stream   | -s 192.0.2.1",
                "udaddy   | -s 192.0.2.1 -p ipoib",
                "mckey    | -m 239.1.2.3 -b 192.0.2.1",
            })
    void aPartitionThatThePortIsNotInIsNamed(String program, String options) throws Exception {
        Ended ended = run(LACKING, program, options);
        assertThat(ended.status()).as(ended.said()).isEqualTo(ExitStatus.HOST_NOT_READY.code());
        assertThat(ended.said())
                .contains("port 1 of standin0 is not a member of partition " + LACKING)
                .contains("0xffff, 0x8011, 0x8022")
                .doesNotContain("ulimit")
                .doesNotContain("\tat ");
        assertThat(ended.record()).isEmpty();
    }

    private Ended run(String partition, String program, String options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xshare:auto",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Rdmatest.class.getName(),
                program,
                "--timeout",
                "3s"));
        command.addAll(List.of(options.split(" ")));
        Path record = folder.resolve("record");
        ProcessBuilder builder = new ProcessBuilder(command);
        Map<String, String> environment = builder.environment();
        environment.keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        environment.put("LD_LIBRARY_PATH", libraries.toString());
        environment.put("LOOPBACK", "link_layer=1,lid=0xbee4,pkeys=4,ipoib_pkey=" + partition);
        environment.put("LOOPBACK_RECORD", record.toString());
        return end(builder, folder.resolve("said"), record);
    }

    private static Ended end(ProcessBuilder builder, Path said, Path record) throws IOException, InterruptedException {
        Process process =
                builder.redirectErrorStream(true).redirectOutput(said.toFile()).start();
        boolean ended;
        try {
            ended = process.waitFor(60, TimeUnit.SECONDS);
        } finally {
            process.destroyForcibly().waitFor();
        }
        String text = Files.readString(said, StandardCharsets.UTF_8);
        assertThat(ended).as("it ends: " + text).isTrue();
        return new Ended(process.exitValue(), text, Files.exists(record) ? Files.readString(record) : "");
    }
}
