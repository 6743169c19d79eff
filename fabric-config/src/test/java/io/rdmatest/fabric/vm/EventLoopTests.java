package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The event loop of the scripts, on this host: it needs no machine. */
class EventLoopTests {

    @TempDir
    Path work;

    /**
     * A child's end closes its pipe and raises a signal, in this order and so shortly after each other that the signal often
     * comes while the loop is about to wait again. One signal lost is a command whose end is never told.
     */
    @Test
    void noEndOfAChildIsMissed() throws Exception {
        String program = """
                use strict; use warnings; use POSIX qw(WNOHANG); use RdmaVm::Loop;
                my $ended = 0;
                sub start {
                    pipe(my $reader, my $writer) or die;
                    my $pid = fork // die;
                    POSIX::_exit(0) if !$pid;
                    close $writer;
                    RdmaVm::Loop::on_read($reader, sub { RdmaVm::Loop::drop($reader) if !sysread $reader, my $data, 1 });
                }
                RdmaVm::Loop::on_signal(CHLD => sub {
                    while (waitpid(-1, WNOHANG) > 0) { start() if ++$ended < 5_000 }
                });
                start();
                RdmaVm::Loop::turn(undef) while $ended < 5_000;
                print "$ended\\n";
                """;

        assertThat(Scripts.perl(work, program)).isEqualTo("5000\n");
    }

    @Test
    void aSignalCallsWhatBelongsToItAndNothingElse() throws Exception {
        String program = """
                use strict; use warnings; use RdmaVm::Loop;
                my @came;
                for my $name (qw(TERM INT HUP)) { RdmaVm::Loop::on_signal($name => sub { push @came, $name }) }
                kill HUP => $$;
                RdmaVm::Loop::turn(undef) until @came;
                kill TERM => $$;
                RdmaVm::Loop::turn(undef) until @came > 1;
                print "@came\\n";
                """;

        assertThat(Scripts.perl(work, program)).isEqualTo("HUP TERM\n");
    }

    @Test
    void aChildThatForgetsStartsWithNoSignalBlocked() throws Exception {
        String program = """
                use strict; use warnings; use RdmaVm::Loop;
                RdmaVm::Loop::on_signal($_ => sub { }) for qw(CHLD TERM);
                $| = 1;
                my $pid = fork // die;
                if (!$pid) {
                    RdmaVm::Loop::forget();
                    exec 'grep', 'SigBlk', '/proc/self/status';
                }
                waitpid $pid, 0;
                """;

        assertThat(Scripts.perl(work, program)).matches("SigBlk:\\s+0{16}\n");
    }
}
