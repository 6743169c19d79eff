package io.rdmatest.report.culprits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.rdmatest.report.culprits.FewNodes.Fault;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One fault in a matrix of 3 to 8 nodes is named, and no other node is. {@link FewNodes#main} prints the table. */
class FewNodesTests {

    private static final int MATRICES = 100;

    static Stream<Arguments> faults() {
        return IntStream.rangeClosed(3, 8)
                .boxed()
                .flatMap(nodes -> Arrays.stream(Fault.values())
                        .filter(fault -> !fault.isNone())
                        .map(fault -> arguments(nodes, fault)));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void aFaultIsNamedInNoiseOf10Percent(int nodes, Fault fault) {
        FewNodes.Tally tally = FewNodes.tally(nodes, 0.1, fault, MATRICES);
        assertThat(tally.named()).as(tally.toString()).isGreaterThanOrEqualTo(95);
        assertThat(tally.others()).as(tally.toString()).isLessThanOrEqualTo(2);
    }

    @ParameterizedTest
    @MethodSource("faults")
    void aFaultIsNamedInNoiseOf2Percent(int nodes, Fault fault) {
        assertThat(FewNodes.tally(nodes, 0.02, fault, MATRICES).named()).isGreaterThanOrEqualTo(99);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.02, 0.1, 0.3})
    void nothingIsNamedInAThousandCleanMatrices(double noise) {
        assertThat(IntStream.rangeClosed(3, 8)
                        .map(nodes ->
                                FewNodes.tally(nodes, noise, Fault.NONE, 1000).others())
                        .sum())
                .isZero();
    }
}
