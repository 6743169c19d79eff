package io.rdmatest.report.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTests {

    @Test
    void aLineHasTheCauseAsAField() throws Exception {
        String line = JournalEvent.of(JournalEvent.Kind.FINISHED)
                .withCause(Cause.PEER_LOST)
                .toLine();

        assertThat(line).contains("\"cause\":\"PEER_LOST\"");
        assertThat(JournalEvent.parse(line).cause()).isEqualTo(Cause.PEER_LOST);
        assertThat(JournalEvent.parse(line.replace("PEER_LOST", "OF_ANOTHER_BUILD"))
                        .cause())
                .isNull();
    }

    /** A test that is over its time limit is interrupted; the journal must not end with it. */
    @Test
    void anInterruptDoesNotEndTheJournal(@TempDir Path folder) throws Exception {
        try (Journal journal = new Journal(folder, false)) {
            journal.write(JournalEvent.trouble("first"));
            Thread.currentThread().interrupt();
            try {
                journal.write(JournalEvent.trouble("second"));
            } finally {
                assertThat(Thread.interrupted()).isTrue();
            }
            journal.write(JournalEvent.trouble("third"));
        }

        assertThat(Journal.read(folder)).extracting(JournalEvent::reason).containsExactly("first", "second", "third");
    }

    /** Whoever showed the progress is gone: the run is still recorded. */
    @Test
    void aBrokenPipeDoesNotEndTheJournal(@TempDir Path folder) throws Exception {
        OutputStream broken = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        try (Journal journal = new Journal(folder, broken)) {
            journal.write(JournalEvent.trouble("first"));
            journal.write(JournalEvent.trouble("second"));
        }

        assertThat(Journal.read(folder)).extracting(JournalEvent::reason).containsExactly("first", "second");
    }

    /** A file on a disk that is full for a while: of what is written then, only the beginning gets there. */
    private static final class FullForAWhile extends FileOutputStream {
        boolean full;

        FullForAWhile(Path file) throws IOException {
            super(file.toFile());
        }

        @Override
        public void write(byte[] bytes) throws IOException {
            if (full) {
                write(bytes, 0, bytes.length / 2);
                throw new IOException("No space left on device");
            }
            super.write(bytes);
        }
    }

    @Test
    void aFullDiskCostsNoMoreThanWhatHappensMeanwhileAndThatIsTold(@TempDir Path folder) throws Exception {
        FullForAWhile file = new FullForAWhile(Journal.newFile(folder));
        try (Journal journal = new Journal(file, null)) {
            journal.write(JournalEvent.trouble("first"));
            file.full = true;
            assertThatThrownBy(() -> journal.write(JournalEvent.trouble("second")))
                    .hasMessage("No space left on device");
            assertThatThrownBy(() -> journal.write(JournalEvent.trouble("third")))
                    .hasMessage("No space left on device");
            file.full = false;
            journal.write(JournalEvent.trouble("fourth"));
            journal.write(JournalEvent.trouble("fifth"));
        }

        List<JournalEvent> events = Journal.read(folder);
        assertThat(events)
                .filteredOn(event -> event.event() == JournalEvent.Kind.TROUBLE)
                .extracting(JournalEvent::reason)
                .containsExactly("first", "fourth", "fifth");
        assertThat(events)
                .filteredOn(event -> event.event() == JournalEvent.Kind.LOST)
                .extracting(JournalEvent::reason)
                .contains("could not be written: No space left on device")
                .anyMatch(reason -> reason.startsWith("line 2 of " + folder));
        Run run = Run.of(events);
        assertThat(run.outcome()).isNotEqualTo(Outcome.QUALIFIED);
        assertThat(run.scenarios()).singleElement().satisfies(scenario -> {
            assertThat(scenario.name).isEqualTo(Run.RECORD);
            assertThat(scenario.verdict).isEqualTo(Verdict.BROKEN);
            assertThat(scenario.reason).contains("No space left on device");
        });
    }
}
