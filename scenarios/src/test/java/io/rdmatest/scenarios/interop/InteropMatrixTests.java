package io.rdmatest.scenarios.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InteropMatrixTests {

    @Test
    void theSameSeedDrawsTheSameCells() {
        assertThat(texts(InteropMatrix.draw(77, 7))).isEqualTo(texts(InteropMatrix.draw(77, 7)));
    }

    /** For every program: a source that ignored its generator would hide behind the others. */
    @Test
    void anotherSeedDrawsOtherCells() {
        Map<String, List<String>> some = byProgram(InteropMatrix.draw(77, 7));
        Map<String, List<String>> others = byProgram(InteropMatrix.draw(78, 7));

        assertThat(some.keySet()).isEqualTo(others.keySet());
        assertThat(some.keySet())
                .allSatisfy(program -> assertThat(some.get(program)).as(program).isNotEqualTo(others.get(program)));
    }

    @Test
    void everyProgramHasSevenCellsInEachRoleAndTheMatrixAtLeastSixty() {
        InteropMatrix matrix = InteropMatrix.draw(1, 7);

        assertThat(matrix.cells()).hasSizeGreaterThanOrEqualTo(60);
        Map<String, Map<OurRole, Long>> counts = matrix.cells().stream()
                .collect(
                        Collectors.groupingBy(Cell::program, Collectors.groupingBy(Cell::ours, Collectors.counting())));
        assertThat(counts).containsOnlyKeys("rping", "ucmatose", "udaddy", "mckey", "rstream");
        assertThat(counts)
                .allSatisfy((program, roles) -> assertThat(roles)
                        .as(program)
                        .isEqualTo(
                                program.equals("mckey")
                                        ? Map.of(OurRole.SENDER, 7L, OurRole.RECEIVER, 7L)
                                        : Map.of(OurRole.CLIENT, 7L, OurRole.SERVER, 7L)));
    }

    /** These have no packet of RDMA, which else somebody would miss. */
    @Test
    void cellsOverTcpAreThoseWhoseTransportIsTcp() {
        List<Cell> cells = InteropMatrix.draw(3, 40).cells();

        assertThat(cells)
                .filteredOn(Cell::overTcp)
                .isNotEmpty()
                .allSatisfy(cell -> assertThat(cell.program()).isEqualTo("rstream"));
        assertThat(cells)
                .allSatisfy(cell -> assertThat(cell.overTcp())
                        .as(cell.options())
                        .isEqualTo(cell.options().contains("-T s")));
    }

    /** Where the program, or the way there and back, shows every byte, the fault switch must have something to prove. */
    @Test
    void someCellsOfTheProgramsThatCompareMustNoticeADamagedByte() {
        Map<String, Long> verifying = InteropMatrix.draw(1, 7).cells().stream()
                .filter(Cell::programVerifies)
                .collect(Collectors.groupingBy(Cell::program, Collectors.counting()));

        assertThat(verifying).containsKeys("rping", "mckey", "rstream");
    }

    @Test
    void theKeysSelectTheCellsAndTheMessageOfAFailureRepeatsThem() {
        InteropMatrix matrix = InteropMatrix.read(keys(Map.of(InteropMatrix.SEED, " 42 ", InteropMatrix.CELLS, "3")));

        assertThat(texts(matrix)).isEqualTo(texts(InteropMatrix.draw(42, 3)));
        assertThat(matrix.repeat()).contains("-Drdma.interop.seed=42", "-Drdma.interop.cells=3");
    }

    @Test
    void withoutKeysThereIsOneCellOfEachAndTheSeedIsThatOfTheRun() {
        InteropMatrix matrix = InteropMatrix.read(keys(Map.of()));

        assertThat(matrix.count()).isEqualTo(1);
        assertThat(matrix.seed()).isPositive();
        assertThat(InteropMatrix.read(keys(Map.of())).seed()).isEqualTo(matrix.seed());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rdma.interop.seed  | yesterday | rdma.interop.seed=yesterday: not a whole number",
                "rdma.interop.cells | some      | rdma.interop.cells=some: not a whole number",
                "rdma.interop.cells | 0         | 0 cells per program and role: allowed are 1 to 1000; set rdma.interop.cells",
                "rdma.interop.cells | 1001      | 1001 cells per program and role: allowed are 1 to 1000; set rdma.interop.cells",
            })
    void aWrongKeyIsNamed(String key, String value, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InteropMatrix.read(keys(Map.of(key, value))))
                .withMessage(message);
    }

    private static Function<String, Optional<String>> keys(Map<String, String> keys) {
        return key -> Optional.ofNullable(keys.get(key));
    }

    private static List<String> texts(InteropMatrix matrix) {
        return matrix.cells().stream().map(Cell::toString).toList();
    }

    private static Map<String, List<String>> byProgram(InteropMatrix matrix) {
        return matrix.cells().stream()
                .collect(Collectors.groupingBy(
                        Cell::program, Collectors.mapping(Cell::optionsText, Collectors.toList())));
    }
}
