package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** docs/verdicts.md is made from {@link Cause}. */
class VerdictsPageTests {

    private static final String BEGIN = "<!-- causes: made from io.rdmatest.Cause -->\n";
    private static final String END = "<!-- /causes -->\n";

    /** {@code -Drdma.docs.write=true} writes the table instead. */
    @Test
    void thePageHasEveryCause() throws IOException {
        Path page = page();
        String text = Files.readString(page);
        String wanted =
                text.substring(0, text.indexOf(BEGIN) + BEGIN.length()) + table() + text.substring(text.indexOf(END));
        if (Boolean.getBoolean("rdma.docs.write")) {
            Path ignored = Files.writeString(page, wanted);
        }
        assertThat(Files.readString(page))
                .as("%s is out of date: run this test with -Drdma.docs.write=true", page)
                .isEqualTo(wanted);
    }

    private static String table() {
        StringBuilder table = new StringBuilder("\n| cause | meaning, and category of the report | verdict |"
                + " exit status of `./rdmatest` | measured again first |\n|---|---|---|---|---|\n");
        for (Cause cause : Cause.values()) {
            table.append("| `")
                    .append(cause.name())
                    .append("` | ")
                    .append(cause.category())
                    .append(" | ")
                    .append(cause.verdict())
                    .append(" | ")
                    .append(cause.exitStatus().code())
                    .append(" | ")
                    .append(cause.mayBeRetried() ? "yes" : "no")
                    .append(" |\n");
        }
        return table.append('\n').toString();
    }

    private static Path page() {
        Path directory = Path.of("").toAbsolutePath();
        while (!Files.isRegularFile(directory.resolve("docs/verdicts.md"))) {
            directory = directory.getParent();
            assertThat(directory).as("a directory with docs/verdicts.md").isNotNull();
        }
        return directory.resolve("docs/verdicts.md");
    }
}
