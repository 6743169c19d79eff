package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class DeviationReaderTests {

    @Test
    void readsEveryKey() {
        List<Deviation> deviations = DeviationReader.read("lab.yaml", """
                deviations:
                  - key: rc-short-receive
                    provider: rdma_.*
                    kernel: { min: "5.10", max: "6.1" }
                    rdma-core: { min: "40" }
                    expect: failure
                    message: LOC_QP_OP_ERR
                    reason: another status
                    link: https://example.org/1
                  - test: com.example.*Test#atomic*
                    name: "*uint64*"
                    provider: mlx5_core
                    expect: skip
                    reason: hangs
                    link: http://example.org/2
                """);
        assertThat(deviations).extracting(Deviation::source).containsExactly("lab.yaml:2", "lab.yaml:10");
        Deviation first = deviations.getFirst();
        assertThat(isOf(first, "rdma_rxe", "6.1.128", "44.0")).isTrue();
        assertThat(isOf(first, "rdma_rxe", "6.2", "44")).isFalse();
        assertThat(isOf(first, "rdma_rxe", "6.1", "39.9")).isFalse();
        assertThat(isOf(first, "mlx5_core", "6.1", "44")).isFalse();
        assertThat(first.concerns(Set.of("rc-short-receive", "a.B#c"), "c()")).isTrue();
        assertThat(first.concerns(Set.of("other", "a.B#c"), "c()")).isFalse();
        assertThat(first.explains(new AssertionError("expected LOC_LEN_ERR but was LOC_QP_OP_ERR")))
                .isTrue();
        assertThat(first.explains(new AssertionError("expected LOC_LEN_ERR but was WR_FLUSH_ERR")))
                .isFalse();
        assertThat(first.words()).isEqualTo("another status (https://example.org/1; lab.yaml:2)");
        Deviation second = deviations.get(1);
        assertThat(second.concerns(Set.of("com.example.x.ATest#atomicAdd"), "[1] uint64"))
                .isTrue();
        assertThat(second.concerns(Set.of("com.example.x.ATest#atomicAdd"), "[2] uint32"))
                .isFalse();
        assertThat(second.concerns(Set.of("com.example.ATest#other"), "[1] uint64"))
                .isFalse();
        assertThat(second.explains(new AssertionError("anything"))).isFalse();
    }

    private static boolean isOf(Deviation deviation, String driver, String kernel, String rdmaCore) {
        return deviation.isOf(driver, Release.parse(kernel), Release.parse(rdmaCore));
    }

    @Test
    void theBundledFilesAreRight() {
        assertThat(Deviation.bundled("rdma_rxe"))
                .isNotEmpty()
                .allMatch(deviation -> deviation.driver().matcher("rdma_rxe").matches());
        assertThat(Deviation.bundled("no_such_driver")).isEmpty();
    }

    static Stream<Arguments> brokenFiles() {
        String list = "key, test, name, provider, kernel, rdma-core, expect, message, reason, link";
        return Stream.of(
                Arguments.of("", "f.yaml:1:1: the file is empty; a deviations file has the key deviations"),
                Arguments.of(
                        "deviations: x", "f.yaml:1:13: deviations must be a list of at least one deviation, not 'x'"),
                Arguments.of(
                        "deviation: []",
                        "f.yaml:1:1: unknown key 'deviation' in a deviations file; allowed:"
                                + " deviations (did you mean 'deviations'?)"),
                one("", "f.yaml:2:5: a deviation needs either key or test"),
                one("key: a\n    test: a.B#c", "f.yaml:2:5: a deviation needs either key or test"),
                one("key: A_b", "f.yaml:6:10: key 'A_b' is no key; allowed: lower-case letters, digits and hyphens"),
                one(
                        "test: a b",
                        "f.yaml:6:11: test 'a b' is no test; allowed: package.Class#method or package.Class, both with *"
                                + " for anything, such as com.example.*#atomic*"),
                one("key: a\n    colour: red", "f.yaml:7:5: unknown key 'colour' in a deviation; allowed: " + list),
                one(
                        "key: a\n    kernel: 6.1",
                        "f.yaml:7:13: kernel must be a mapping with the keys min, max, not '6.1'"),
                one("key: a\n    kernel: {}", "f.yaml:7:13: kernel selects nothing; give min or max, or leave it out"),
                one(
                        "key: a\n    kernel: { min: new }",
                        "f.yaml:7:20: kernel min 'new' is no release; allowed: one to three numbers with dots, such as"
                                + " \"6.1\""),
                one(
                        "key: a\n    rdma-core: { min: 44, max: 43 }",
                        "f.yaml:7:16: rdma-core min 44 is newer than max 43"),
                one(
                        "key: a\n    message: x",
                        "f.yaml:7:14: message makes no sense with expect: skip, for the test does not run"));
    }

    private static Arguments one(String keys, String message) {
        return Arguments.of(
                "deviations:\n  - provider: p\n    expect: skip\n    reason: r\n    link: https://example.org\n    "
                        + keys,
                message);
    }

    @ParameterizedTest
    @MethodSource("brokenFiles")
    void saysWhereAFileIsWrongAndWhatIsAllowed(String text, String message) {
        assertThatThrownBy(() -> DeviationReader.read("f.yaml", text))
                .isInstanceOf(ExtensionConfigurationException.class)
                .hasMessageStartingWith(message);
    }

    @Test
    void tellsAllProblemsAtOnce() {
        assertThatThrownBy(() -> DeviationReader.read("f.yaml", """
                deviations:
                  - key: a
                    provider: "("
                    expect: error
                    reason: ""
                    link: nowhere
                  - key: b
                    provider: p
                    expect: failure
                    reason: r
                    link: https://example.org
                """))
                .isInstanceOf(ExtensionConfigurationException.class)
                .message()
                .satisfies(message -> assertThat(message.lines())
                        .containsExactly(
                                "f.yaml:3:15: provider '(' is no regular expression: Unclosed group",
                                "f.yaml:4:13: expect 'error' is unknown; allowed: failure, skip",
                                "f.yaml:5:13: reason must say something, not ''",
                                "f.yaml:6:11: link 'nowhere' is no link; allowed: https://… or http://…",
                                "f.yaml:7:5: expect: failure needs message, a part of the failure's message; only that"
                                        + " failure is expected"));
    }
}
