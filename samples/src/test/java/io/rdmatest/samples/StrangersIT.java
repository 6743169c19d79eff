package io.rdmatest.samples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Builds projects as people do who have nothing but the published artifacts: their local repository is empty of rdmatest,
 * and what the build deployed is the only place that has it.
 *
 * <p>Their Maven finds plugins and libraries of others in the local repository of this build first, and else where its own
 * settings say.
 */
@Tag("strangers")
class StrangersIT {

    private static final Path MODULE = Path.of("").toAbsolutePath();
    private static final Path TARGET = MODULE.resolve("target/strangers");
    private static final Path REPOSITORY = MODULE.resolveSibling("target/repository");
    private static final Pattern COUNT = Pattern.compile(" (tests|errors|skipped|failures)=\"(\\d+)\"");

    @Test
    void theQuickStartIsGreenWhenFollowedLiterally() throws Exception {
        List<String> page = Files.readAllLines(MODULE.resolveSibling("docs/quick-start.md"), UTF_8);
        Path folder = empty("quick-start");
        List<String> lines = new ArrayList<>();
        String command = "";
        for (int i = 0; i < page.size(); i++) {
            String marker = page.get(i);
            if (!marker.startsWith("<!-- file: ") && !marker.equals("<!-- run -->")) {
                continue;
            }
            List<String> block = page.subList(i + 2, page.size());
            block = block.subList(0, block.indexOf("```"));
            lines.addAll(block.stream().filter(line -> !line.isBlank()).toList());
            if (marker.equals("<!-- run -->")) {
                command = String.join("\n", block);
            } else {
                Path file = folder.resolve(marker.substring("<!-- file: ".length(), marker.indexOf(" -->")));
                Files.createDirectories(file.getParent());
                Files.write(file, block, UTF_8);
            }
        }
        assertThat(lines).as("lines of the quick start").hasSizeBetween(3, 20);
        run(folder, command);
        assertThat(counts(folder)).isEqualTo(Map.of("tests", 1, "failures", 0, "errors", 0, "skipped", 0));
    }

    @Test
    void aProjectOnJUnit5RunsOnThePublishedJavaAndKeepsWhatItsTestsPublish() throws Exception {
        Path folder = sample("junit5");
        run(folder, "mvn verify");
        assertThat(counts(folder)).isEqualTo(Map.of("tests", 4, "failures", 0, "errors", 0, "skipped", 0));
        assertThat(Files.getPosixFilePermissions(folder.resolve("target/rdma-jdk/bin/java")))
                .contains(PosixFilePermission.OWNER_EXECUTE);
        String report = "";
        try (Stream<Path> files = Files.walk(folder.resolve("target/open-test-report"))) {
            for (Path file :
                    files.filter(file -> file.toString().endsWith(".xml")).toList()) {
                report += Files.readString(file, UTF_8);
            }
        }
        assertThat(report)
                .contains("key=\"rdma.device\"", "key=\"rdma.environment.driver\"", "connection.txt")
                .contains("text/plain");
    }

    @Test
    void aProjectOnJUnit6RunsOnTheModulePath() throws Exception {
        Path folder = sample("junit6");
        run(folder, "mvn verify");
        assertThat(counts(folder)).isEqualTo(Map.of("tests", 3, "failures", 0, "errors", 0, "skipped", 0));
    }

    @Test
    void sourcesAndDocumentationArePublishedWithEveryJar() throws IOException {
        for (String module : List.of("harness-core", "fabric-config", "junit-extension", "scenarios", "reports")) {
            try (Stream<Path> files =
                    Files.walk(REPOSITORY.resolve("io/rdmatest").resolve(module))) {
                List<String> names =
                        files.map(file -> file.getFileName().toString()).toList();
                assertThat(names)
                        .as(module)
                        .anyMatch(name -> name.endsWith("-sources.jar"))
                        .anyMatch(name -> name.endsWith("-javadoc.jar"))
                        .anyMatch(name -> name.matches(module + "-[\\w.-]*\\d\\.jar"))
                        .anyMatch(name -> name.endsWith(".pom"));
            }
        }
    }

    @Test
    void theAgentOfOtherNodesIsPublished() throws IOException {
        try (Stream<Path> files = Files.walk(REPOSITORY.resolve("io/rdmatest/scenarios"))) {
            List<Path> agents =
                    files.filter(file -> file.toString().endsWith("-agent.jar")).toList();
            assertThat(agents).isNotEmpty();
            for (Path agent : agents) {
                try (JarFile jar = new JarFile(agent.toFile())) {
                    String main = jar.getManifest().getMainAttributes().getValue(Attributes.Name.MAIN_CLASS);
                    assertThat(jar.getEntry(main.replace('.', '/') + ".class")).isNotNull();
                    assertThat(jar.getEntry("com/fasterxml/jackson/databind/ObjectMapper.class"))
                            .isNotNull();
                }
            }
        }
    }

    private static Path sample(String name) throws IOException {
        Path folder = empty(name);
        Path from = MODULE.resolve(name);
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile)
                    .filter(file -> !from.relativize(file).startsWith("target"))
                    .toList()) {
                Path to = folder.resolve(from.relativize(file));
                Files.createDirectories(to.getParent());
                Files.copy(file, to);
            }
        }
        return folder;
    }

    private static Path empty(String name) throws IOException {
        Path folder = TARGET.resolve(name);
        delete(folder);
        Files.createDirectories(folder);
        return folder;
    }

    private static void delete(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted((one, other) -> other.compareTo(one))
                        .map(Path::toFile)
                        .forEach(File::delete);
            }
        }
    }

    /** Runs a command in a folder, with the Maven of this build and an empty local repository. */
    private static void run(Path folder, String command) throws IOException, InterruptedException {
        assertThat(REPOSITORY)
                .as("what \"mvn verify\" deploys in the modules before this one")
                .isDirectory();
        // What an earlier build left there is of an earlier build.
        delete(TARGET.resolve("repository/io/rdmatest"));
        Path settings = TARGET.resolve("settings.xml");
        Files.writeString(settings, settings(), UTF_8);
        Files.createDirectories(folder.resolve(".mvn"));
        Files.writeString(
                folder.resolve(".mvn/maven.config"),
                "--batch-mode\n-ntp\n-gs\n" + settings + "\n-Dmaven.repo.local=" + TARGET.resolve("repository") + "\n",
                UTF_8);
        Path log = folder.resolve("mvn.log");
        ProcessBuilder builder = new ProcessBuilder("sh", "-ec", command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
        Map<String, String> environment = builder.environment();
        environment.keySet().removeAll(List.of("MAVEN_OPTS", "MAVEN_ARGS", "JAVA_TOOL_OPTIONS", "MAVEN_CMD_LINE_ARGS"));
        environment.put("PATH", System.getProperty("rdma.test.maven") + "/bin:" + environment.get("PATH"));
        Process process = builder.start();
        try {
            boolean ended = process.waitFor(6, TimeUnit.MINUTES);
            List<String> lines = Files.readAllLines(log, UTF_8);
            String tail = String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size()));
            assertThat(ended)
                    .as("'%s' ended; its last lines:%n%s", command, tail)
                    .isTrue();
            assertThat(process.exitValue())
                    .as("status of '%s' in %s; its last lines:%n%s", command, folder, tail)
                    .isZero();
        } finally {
            List<ProcessHandle> children = process.descendants().toList();
            process.destroyForcibly().waitFor();
            children.forEach(ProcessHandle::destroyForcibly);
        }
    }

    private static String settings() {
        return """
                <settings>
                  <profiles>
                    <profile>
                      <id>stranger</id>
                      <repositories>
                        <repository>
                          <id>published</id>
                          <url>%s</url>
                          <releases><enabled>false</enabled></releases>
                          <snapshots><enabled>true</enabled><updatePolicy>always</updatePolicy></snapshots>
                        </repository>
                        %s
                      </repositories>
                      <pluginRepositories>
                        %s
                      </pluginRepositories>
                    </profile>
                  </profiles>
                  <activeProfiles>
                    <activeProfile>stranger</activeProfile>
                  </activeProfiles>
                </settings>
                """.formatted(
                REPOSITORY.toUri(), cache().replace("NAME", "repository"), cache().replace("NAME", "pluginRepository"));
    }

    private static String cache() {
        return """
                <NAME>
                  <id>cache</id>
                  <url>%s</url>
                  <releases><enabled>true</enabled><checksumPolicy>ignore</checksumPolicy></releases>
                  <snapshots><enabled>false</enabled></snapshots>
                </NAME>
                """.formatted(Path.of(System.getProperty("rdma.test.local-repository"))
                .toUri());
    }

    /** Adds up the counts of Failsafe's reports. */
    private static Map<String, Integer> counts(Path folder) throws IOException {
        Map<String, Integer> counts = new TreeMap<>();
        try (Stream<Path> reports = Files.list(folder.resolve("target/failsafe-reports"))) {
            for (Path report : reports.filter(
                            file -> file.getFileName().toString().startsWith("TEST-"))
                    .toList()) {
                String text = Files.readString(report, UTF_8);
                int from = text.indexOf("<testsuite ");
                Matcher matcher = COUNT.matcher(text.substring(from, text.indexOf('>', from)));
                while (matcher.find()) {
                    counts.merge(matcher.group(1), Integer.parseInt(matcher.group(2)), Integer::sum);
                }
            }
        }
        return counts;
    }
}
