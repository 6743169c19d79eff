package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/** Each module has a budget of lines of main Java. Only an issue raises it; who needs less lowers it. */
class LineBudgetTests {

    @ParameterizedTest
    @CsvFileSource(files = "../.ci/line-budget.csv", useHeadersInDisplayName = true)
    void aModuleKeepsWithinItsBudget(String module, long lines) throws IOException {
        long sum = 0;
        for (Path source : sources(Machines.PROJECT.resolve(module).resolve("src/main/java"))) {
            try (Stream<String> its = Files.lines(source)) {
                sum += its.count();
            }
        }
        assertThat(sum)
                .as("lines of main Java in %s; .ci/line-budget.csv has its budget", module)
                .isBetween(1L, lines);
    }

    private static List<Path> sources(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList();
        }
    }
}
