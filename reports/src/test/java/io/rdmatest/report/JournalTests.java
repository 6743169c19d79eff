package io.rdmatest.report;

import static org.assertj.core.api.Assertions.assertThat;

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
}
