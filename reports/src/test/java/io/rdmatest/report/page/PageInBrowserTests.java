package io.rdmatest.report.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opens pages from disk in Chromium, where there is one, and looks at what its scripts have made of them. */
class PageInBrowserTests {

    private static final int MOST_BYTES = 20_000_000;
    private static final double MOST_MILLIS = 3_000;

    @TempDir
    private Path folder;

    private String opened() throws IOException, InterruptedException {
        assumeTrue(
                Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                        .anyMatch(entry -> Files.isExecutable(Path.of(entry, "chromium"))),
                "chromium is not on the PATH, so no page is opened");
        Page.write(folder, null);
        Path dom = folder.resolve("dom.html");
        Path log = folder.resolve("chromium.log");
        Process process = new ProcessBuilder(List.of(
                        "chromium",
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-dev-shm-usage",
                        "--user-data-dir=" + folder.resolve("profile"),
                        "--virtual-time-budget=5000",
                        "--enable-logging=stderr",
                        "--dump-dom",
                        folder.resolve("index.html").toUri().toString()))
                .redirectOutput(dom.toFile())
                .redirectError(log.toFile())
                .start();
        assertThat(process.waitFor(4, TimeUnit.MINUTES)).as("chromium ended").isTrue();
        String html = Files.readString(dom);
        String said = Files.readString(log);
        assertThat(said).doesNotContain("CONSOLE");
        assertThat(attribute(html, "error")).as("error of a script").isEmpty();
        assertThat(attribute(html, "ready")).as("scripts ran through; %s", said).isEqualTo("true");
        return html;
    }

    /** Returns an attribute of the document's element that its scripts set; empty if they did not. */
    private static String attribute(String html, String name) {
        Matcher found = Pattern.compile("<html[^>]*\\bdata-" + name + "=\"([^\"]*)\"").matcher(html);
        return found.find() ? found.group(1) : "";
    }

    @Test
    void scriptsRunThroughWithFewNodes() throws Exception {
        PageTests.summary(folder, "not qualified", "The fabric failed 1 scenario of 3.");
        new GeneratedPairs(4, 4, 2).write(folder.resolve("pairs.jsonl"));

        String html = opened();

        assertThat(html)
                .contains("Not qualified.</span> The fabric failed 1 scenario of 3.")
                .contains("<option value=\"1\">rail1</option>")
                .contains("A row is a sender, a column a receiver.");
        assertThat(attribute(html, "first-picture")).isNotEmpty();
    }

    @Test
    void theCulpritIsOnThePageAndLeavesComeFirst() throws Exception {
        PageTests.summary(folder, "not qualified", "The fabric failed 1 scenario of 3.");
        GeneratedPairs pairs = new GeneratedPairs(96, 16, 1);
        pairs.write(folder.resolve("pairs.jsonl"));

        assertThat(opened())
                .contains("port " + GeneratedPairs.name(pairs.slowReceiver()) + " on rail0, receiving")
                .contains("A square is a block");
    }

    @Test
    void withoutPairsThereIsNoErrorEither() throws Exception {
        PageTests.summary(folder, "qualified", "All 1 scenario that were judged passed.");

        assertThat(opened()).contains("so there is no heat map");
    }

    @Test
    void namesThatLookLikeMarkupStayText() throws Exception {
        PageTests.summary(folder, "qualified", PageTests.EVIL, PageTests.scenario(PageTests.EVIL, "failed", PageTests.EVIL));
        Files.writeString(
                folder.resolve("pairs.jsonl"),
                PageTests.cell("</script><img src=x>", "<b>", "failed", ", \"cause\": \"</script><i>\""));

        assertThat(opened())
                .doesNotContain("<img")
                .doesNotContain("<i>")
                .contains("<title>Qualified: rdmatest</title>")
                .contains("&lt;/script&gt;&lt;img src=x");
    }

    @Test
    @Tag("slow")
    void aThousandNodesOpenSoon() throws Exception {
        PageTests.summary(folder, "not qualified", "The fabric failed 1 scenario of 3.");
        new GeneratedPairs(1000, 32, 1).write(folder.resolve("pairs.jsonl"));

        String html = opened();

        assertThat(Files.size(folder.resolve("index.html"))).isLessThan(MOST_BYTES);
        assertThat(Double.parseDouble(attribute(html, "first-picture"))).isLessThan(MOST_MILLIS);
    }
}
