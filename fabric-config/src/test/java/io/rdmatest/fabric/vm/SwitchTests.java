package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The switch between the machines, on this host: it needs no machine. */
class SwitchTests {

    /** Three cables; frames are numbered, and as long as those of a path MTU of 1024 bytes. */
    private static final String SEGMENT = """
            use strict; use warnings; use RdmaVm::Loop; use RdmaVm::Switch;
            $SIG{ALRM} = sub { die "no end\\n" };
            alarm 300;
            $SIG{PIPE} = 'IGNORE';
            my %cable = RdmaVm::Switch::cables(qw(a b c));
            RdmaVm::Loop::non_blocking($_) for values %cable;
            my %mac = (a => "\\x02\\0\\0\\0\\0\\x01", b => "\\x02\\0\\0\\0\\0\\x02", c => "\\x02\\0\\0\\0\\0\\x03", all => "\\xff" x 6);
            my %in = map { $_ => '' } keys %cable;
            sub frame {
                my ($from, $to, $number) = @_;
                return pack 'N/a*', $mac{$to} . $mac{$from} . pack('n N', 0x0800, $number) . 'x' x 1070;
            }
            sub give {
                my ($from, $frames) = @_;
                RdmaVm::Loop::on_write($cable{$from}, sub { substr $frames, 0, syswrite($cable{$from}, $frames, 65536) // 0, '' });
                RdmaVm::Loop::turn(undef) while $frames ne '';
                RdmaVm::Loop::no_write($cable{$from});
            }
            sub take {
                my ($at, $done) = @_;
                my @numbers;
                RdmaVm::Loop::on_read($cable{$at}, sub {
                    sysread $cable{$at}, $in{$at}, 65536, length $in{$at};
                    while (length $in{$at} >= 4 && length $in{$at} >= 4 + unpack 'N', $in{$at}) {
                        push @numbers, unpack 'x18 N', substr $in{$at}, 0, 4 + unpack('N', $in{$at}), '';
                    }
                });
                RdmaVm::Loop::turn(undef) until $done->(@numbers);
                RdmaVm::Loop::no_read($cable{$at});
                return @numbers;
            }
            sub count { my ($n) = @_; return sub { @_ >= $n } }
            """;

    @TempDir
    Path work;

    /** A queue pair takes a packet out of order for a lost one. */
    @Test
    void whatAMachineTakesLateComesInOrderAndWhole() throws Exception {
        assertThat(Scripts.perl(work, SEGMENT + """
                        give(b => frame(b => 'all', 7));
                        give(a => join '', map { frame(a => 'b', $_) } 1 .. 5000);
                        my @numbers = take(b => count(5000));
                        my @wrong = grep { $numbers[$_] != $_ + 1 } 0 .. $#numbers;
                        print scalar(@numbers), ' came, ', scalar(@wrong), " out of order\\n";
                        """)).isEqualTo("5000 came, 0 out of order\n");
    }

    @Test
    void onlyTheMachineThatIsMeantGetsAFrame() throws Exception {
        assertThat(Scripts.perl(work, SEGMENT + """
                        give(a => frame(a => 'b', 1));
                        print 'before b spoke: ', join(' ', take(b => count(1)), take(c => count(1))), "\\n";
                        give(b => frame(b => 'all', 2));
                        print 'to all: ', join(' ', take(a => count(1)), take(c => count(1))), "\\n";
                        give(a => frame(a => 'b', 3));
                        give(a => frame(a => 'all', 4));
                        print 'b: ', join(' ', take(b => count(2))), ', c: ', join(' ', take(c => count(1))), "\\n";
                        """)).isEqualTo("before b spoke: 1 1\nto all: 2 2\nb: 3 4, c: 4\n");
    }

    @Test
    void whatAMachineDoesNotTakeIsKeptUpToALimit() throws Exception {
        assertThat(Scripts.perl(work, SEGMENT + """
                        give(c => frame(c => 'all', 1));
                        give(a => frame(a => 'c', 2) x 20_000);
                        my $came = take(c => count(10_000));
                        give(a => frame(a => 'c', 3));
                        $came += take(c => sub { @_ && $_[-1] == 3 });
                        print $came * 1092 > 16 << 20 ? 'as much as is allowed' : 'too little', ', ';
                        print $came < 20_000 ? 'the rest is lost' : 'and more', "\\n";
                        """)).isEqualTo("as much as is allowed, the rest is lost\n");
    }

    @Test
    void aMachineThatTakesNothingOrIsGoneHoldsUpNoOther() throws Exception {
        assertThat(Scripts.perl(work, SEGMENT + """
                        give(c => frame(c => 'all', 1));
                        give(b => frame(b => 'all', 2));
                        give(a => frame(a => 'c', 3) x 20_000);
                        give(a => frame(a => 'b', 4));
                        print join(' ', take(b => count(2))), "\\n";
                        close delete $cable{c};
                        give(a => frame(a => 'c', 5) . frame(a => 'b', 6));
                        print join(' ', take(b => count(1))), "\\n";
                        """)).isEqualTo("1 4\n6\n");
    }
}
