package io.rdmatest.report.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Verdict;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opens pages from disk in Chromium, where there is one, and looks at what its scripts have made of them. */
class PageInBrowserTests {

    private static final int MOST_BYTES = 20_000_000;

    @TempDir
    private Path folder;

    private Run run = PageTests.oneOfThreeFailed();
    private @Nullable Changes changes;

    private String opened() throws IOException, InterruptedException {
        assumeTrue(
                Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                        .anyMatch(entry -> Files.isExecutable(Path.of(entry, "chromium"))),
                "chromium is not on the PATH, so no page is opened");
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

    /** Writes the page, and opens it. */
    private String written() throws IOException, InterruptedException {
        Page.write(folder, run, RunPairs.read(folder, null), List.of(), null, changes);
        return opened();
    }

    /** Writes the page, and opens it with a script that does what a visitor does. Its own policy would not let that run. */
    private String visited(String script) throws IOException, InterruptedException {
        Page.write(folder, run, RunPairs.read(folder, null), List.of(), null, changes);
        Path page = folder.resolve("index.html");
        String html = Files.readString(page)
                .replaceFirst("<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "")
                .replace("</body>", """
                        <script>
                        const until = setInterval(async () => {
                          if (document.documentElement.dataset.ready !== "true") return;
                          clearInterval(until);
                          const map = document.getElementById("canvas");
                          const readout = () => document.getElementById("readout").innerText;
                          const press = key => map.dispatchEvent(new KeyboardEvent("keydown", { key }));
                          const rest = () => new Promise(resolve => setTimeout(resolve, 100));
                          const said = [];
                          %s
                          document.body.append(Object.assign(document.createElement("pre"), { innerText: said.join("\\n") }));
                        }, 50);
                        </script></body>""".formatted(script));
        Path ignored = Files.writeString(page, html);
        return opened();
    }

    /** Returns an attribute of the document's element that its scripts set; empty if they did not. */
    private static String attribute(String html, String name) {
        Matcher found =
                Pattern.compile("<html[^>]*\\bdata-" + name + "=\"([^\"]*)\"").matcher(html);
        return found.find() ? found.group(1) : "";
    }

    @Test
    void scriptsRunThroughWithFewNodes() throws Exception {
        new GeneratedPairs(4, 4, 2).write(folder.resolve("pairs.jsonl"));

        String html = written();

        assertThat(html)
                .contains("Not qualified.</span> The fabric failed 1 scenario of 3.")
                .contains("<option value=\"1\">rail1</option>")
                .contains("A row is a sender, a column a receiver.");
        assertThat(attribute(html, "first-picture")).isNotEmpty();
    }

    @Test
    void theNightsOfEachCulpritAreDrawn() throws Exception {
        changes = PageTests.nights(folder, "port n4");

        String html = written();

        assertThat(html).contains("<strong>port n4</strong>: bandwidth, in Gb/s");
        // uPlot draws on a canvas in an element of this class.
        assertThat(html.split("class=\"u-wrap\"", -1)).hasSize(1 + 1);
        assertThat(html).contains(">culprit<", ">others<");
    }

    @Test
    void theCulpritIsOnThePageAndLeavesComeFirst() throws Exception {
        GeneratedPairs pairs = new GeneratedPairs(96, 16, 1);
        pairs.write(folder.resolve("pairs.jsonl"));

        assertThat(written())
                .contains("port " + GeneratedPairs.name(pairs.slowReceiver()) + " on rail0, receiving")
                .contains("A square is a block");
    }

    @Test
    void aVisitorGetsFromTheCulpritToItsCells() throws Exception {
        GeneratedPairs pairs = new GeneratedPairs(96, 16, 1);
        pairs.write(folder.resolve("pairs.jsonl"));

        String html = visited("""
                document.querySelector("button.show").click();
                await rest();
                said.push("shown: " + readout());
                document.getElementById("blocks").click();
                press("ArrowDown");
                said.push("block: " + readout());
                press("Enter");
                await rest();
                press("ArrowDown");
                press("ArrowDown");
                said.push("cell: " + readout());
                press("ArrowRight");
                said.push("itself: " + readout());
                press("Escape");
                said.push("back: " + document.getElementById("help").innerText);
                document.getElementById("metric-3").click();
                said.push("metric: " + document.getElementById("legend").innerText);
                document.getElementById("all-nodes").click();
                said.push("rows: " + document.querySelectorAll("#node-table tbody tr").length);
                """);

        assertThat(html)
                .containsPattern("shown: " + GeneratedPairs.name(pairs.slowReceiver()) + ", receiving")
                .containsSubsequence("block: Block leaf0 → leaf0", "pairs measured\t239", "pairs failed\t1")
                .containsSubsequence("cell: n002 → n001", "outcome\tfailed", "cause\tRETRY_EXCEEDED")
                .contains("itself: n002 → n002")
                .contains("back: A square is a block")
                .contains("metric: latency p99, against the median of the rail")
                .contains("rows: 96");
    }

    @Test
    void withoutPairsThereIsNoErrorEither() throws Exception {
        run = PageTests.PASSED;

        assertThat(written()).contains("so there is no heat map");
    }

    @Test
    void namesThatLookLikeMarkupStayText() throws Exception {
        run = PageTests.run(
                List.of(PageTests.EVIL), PageTests.scenario(PageTests.EVIL, Verdict.FAILED, PageTests.EVIL));
        Files.writeString(
                folder.resolve("pairs.jsonl"),
                PageTests.cell("</script><img src=x>", "<b>", "failed", ", \"cause\": \"</script><i>\""));

        assertThat(written())
                .doesNotContain("<img")
                .doesNotContain("<i>")
                .contains("<title>Not qualified: rdmatest</title>")
                .contains("&lt;/script&gt;&lt;img src=x");
    }

    @Test
    @Tag("slow")
    void aThousandNodesMakeAPageOfLimitedSize() throws Exception {
        new GeneratedPairs(1000, 32, 1).write(folder.resolve("pairs.jsonl"));

        String html = written();

        assertThat(Files.size(folder.resolve("index.html"))).isLessThan(MOST_BYTES);
        // For people to judge: a host that is busy takes longer.
        System.out.println("first picture after " + attribute(html, "first-picture") + " ms");
    }
}
