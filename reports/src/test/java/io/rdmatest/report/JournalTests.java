package io.rdmatest.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTests {

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
}
