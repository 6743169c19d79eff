package io.rdmatest.report.nights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArchiveTests {

    @TempDir
    private Path folder;

    private final List<String> notes = new ArrayList<>();

    private Path summary(String kernel) throws IOException {
        return Files.writeString(
                folder.resolve("qualification.json"),
                "{\"schemaVersion\": 3, \"environment\": {\"kernel\": \"%s\"}, \"scenarios\": []}".formatted(kernel));
    }

    private Path archive() {
        return folder.resolve("some/archive");
    }

    private Path keep(int night, boolean accept) throws IOException {
        return Archive.keep(
                archive(),
                List.of(summary("night " + night), folder.resolve("pairs.jsonl")),
                "2026-11-%02dT04:00:00.123Z".formatted(night),
                "id",
                accept);
    }

    private List<String> read(int most, Path... more) throws IOException {
        List<Path> files = new ArrayList<>(List.of(archive()));
        files.addAll(List.of(more));
        return Qualification.readAll(files, most, notes::add).stream()
                .map(run -> run.environment().get("kernel"))
                .toList();
    }

    @Test
    void eachRunHasAFolderAndTheLastOnesAreRead() throws IOException {
        // Not in their order: names say it.
        for (int night : List.of(3, 1, 4, 2)) {
            Path kept = keep(night, false);
            assertThat(kept).isEqualTo(archive().resolve("2026-11-0" + night + "T040000.123Z-id"));
            try (Stream<Path> files = Files.list(kept)) {
                assertThat(files).containsExactly(kept.resolve("qualification.json"));
            }
        }

        assertThat(read(9)).containsExactly("night 1", "night 2", "night 3", "night 4");
        assertThat(read(2)).containsExactly("night 3", "night 4");
        Path now = Files.move(summary("now"), folder.resolve("now.json"));
        assertThat(read(2, now)).containsExactly("night 4", "now");
        assertThat(notes).isEmpty();
    }

    /** In an archive that others use for rehearsals, these take no places away. */
    @Test
    void ofEachKindAsManyAreRead() throws IOException {
        for (int night = 1; night <= 6; night++) {
            Path summary = keep(night, false).resolve("qualification.json");
            if (night > 2) {
                Files.writeString(
                        summary,
                        Files.readString(summary).replaceFirst("(\"environment\" *: *\\{)", "$1\"driver\": \"siw\", "));
            }
        }

        assertThat(read(2)).containsExactly("night 1", "night 2", "night 5", "night 6");
    }

    /** The kernel lets nobody delete these, not even root. */
    @Test
    void whatCannotBeDeletedIsNamedWithTheCure() {
        Path folder = Path.of("/proc/sys/kernel/random");

        assertThatThrownBy(() -> Folders.delete(folder))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(folder + "/")
                .hasMessageContaining(" can't be deleted: ")
                .hasMessageEndingWith(". Delete " + folder + " as its owner, or as root.");
    }

    @Test
    void whatIsAcceptedIsTheFirstOneThatCounts() throws IOException {
        Path ignored = keep(1, true);
        Path second = keep(2, false);
        Path third = keep(3, true);
        Path last = keep(4, false);

        assertThat(read(9)).containsExactly("night 3", "night 4");
        // In the morning after, by hand.
        Files.createFile(last.resolve(Archive.ACCEPTED));
        assertThat(read(9)).containsExactly("night 4");
        Files.delete(last.resolve(Archive.ACCEPTED));
        Files.delete(third.resolve(Archive.ACCEPTED));
        assertThat(second).exists();
        assertThat(read(9)).hasSize(4);
    }

    @Test
    void aNightThatCannotBeReadIsLeftOutAndNoted() throws IOException {
        Path first = keep(1, false);
        Path second = keep(2, false);
        Path third = keep(3, false);
        Path broken = Files.writeString(second.resolve(Archive.SUMMARY), "{\"environment\"");
        Files.createDirectories(archive().resolve("2026-11-04 without a summary"));
        Files.createDirectories(archive().resolve(".part-2026-11-05"));

        assertThat(read(2)).as("so many as can be read").containsExactly("night 1", "night 3");
        assertThat(notes).singleElement().asString().startsWith("Left out: " + broken + " is no qualification.json: ");
        assertThat(first).exists();
        assertThat(third).exists();
    }

    /** The clock of a host was wrong: every later run would be earlier than that one. */
    @Test
    void aRunInTheFutureIsLeftOutAndNoted() throws IOException {
        Path first = keep(1, true);
        Path second = keep(2, false);
        Path future = keep(3, true).resolve(Archive.SUMMARY);
        for (Path run : List.of(first, second)) {
            start(run.resolve(Archive.SUMMARY), Instant.now().toString());
        }
        String later = "2999-01-01T04:00:00Z";
        start(future, later);

        assertThat(read(9)).containsExactly("night 1", "night 2");
        assertThat(notes)
                .containsExactly("Left out: " + future + " is of a run in the future, " + later
                        + ". Set the clock of its host, or of this one.");
        assertThat(read(9, future)).as("one that is named").containsExactly("night 1", "night 2");
    }

    private static void start(Path summary, String start) throws IOException {
        Path ignored = Files.writeString(
                summary, Files.readString(summary).replaceFirst("\\{", "{\"start\": \"" + start + "\", "));
    }

    @Test
    void oneThatIsNamedHasToBeReadable() throws IOException {
        Path broken = Files.writeString(folder.resolve("broken.json"), "{");
        Path ignored = keep(1, false);

        assertThatIOException()
                .isThrownBy(() -> read(9, broken))
                .withMessageStartingWith(broken + " is no qualification.json");
    }

    @Test
    void whatCannotBeWrittenToIsToldWithTheReasonAndWhatToDo() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        Path below = file.resolve("archive");
        Path proc = Path.of("/proc/rdmatest");

        assertThatIOException()
                .isThrownBy(() -> Archive.prepare(file))
                .withMessage(file + " can't be written to: " + file + " is a file. Name a folder.");
        for (Path wrong : List.of(below, proc)) {
            assertThatIOException()
                    .isThrownBy(() -> Archive.prepare(wrong))
                    .withMessageStartingWith(wrong + " can't be written to: ")
                    .withMessageEndingWith(". Name a folder that this user can write to.");
        }
        Archive.prepare(archive());
        assertThat(archive()).isEmptyDirectory();
    }

    @Test
    void ofARunThatCannotBeKeptNothingIsLeft() throws IOException {
        Path kept = keep(1, false);

        assertThatIOException()
                .as("the same run once more")
                .isThrownBy(() -> keep(1, false))
                .withMessageStartingWith(archive() + " can't be written to: ");
        try (Stream<Path> runs = Files.list(archive())) {
            assertThat(runs).containsExactly(kept);
        }
    }
}
