package RdmaVm::Loop;

# A small event loop: callbacks for readable and writable file handles and for signals. Signals arrive through a pipe,
# because one that comes between a test and select() would otherwise be noticed only at the next timeout.

use strict;
use warnings;
use Errno qw(EINTR);
use Fcntl;

my (%reader, %writer, %on_signal, $wake_reader, $wake_writer);

sub non_blocking {
    my ($fh) = @_;
    my $flags = fcntl($fh, F_GETFL, 0) or die "fcntl: $!\n";
    fcntl($fh, F_SETFL, $flags | O_NONBLOCK) or die "fcntl: $!\n";
    return $fh;
}

sub on_read  { my ($fh, $do) = @_; $reader{fileno $fh} = $do; return }
sub on_write { my ($fh, $do) = @_; $writer{fileno $fh} = $do; return }
sub no_read  { my ($fh) = @_; delete $reader{fileno $fh} if defined fileno $fh; return }
sub no_write { my ($fh) = @_; delete $writer{fileno $fh} if defined fileno $fh; return }

# Stops watching and closes.
sub drop { my ($fh) = @_; no_read($fh); no_write($fh); close $fh; return }

sub on_signal {
    my ($name, $do) = @_;
    if (!$wake_reader) {
        pipe($wake_reader, $wake_writer) or die "pipe: $!\n";
        non_blocking($_) for $wake_reader, $wake_writer;
        on_read($wake_reader, sub {
            sysread($wake_reader, my $names, 4096) or return;
            $on_signal{$_}->() for grep { $on_signal{$_} } split /\n/, $names;
        });
    }
    $on_signal{$name} = $do;
    $SIG{$name} = sub { local $!; syswrite($wake_writer, "$name\n") };
    return;
}

# Waits for one round of events, at most so many seconds (undef: for ever), and calls what belongs to them.
sub turn {
    my ($timeout) = @_;
    my ($r, $w) = ('', '');
    vec($r, $_, 1) = 1 for keys %reader;
    vec($w, $_, 1) = 1 for keys %writer;
    my $n = select($r, $w, undef, $timeout);
    if ($n < 0) {
        return if $! == EINTR;
        die "select: $!\n";
    }
    # A callback may take away another one of the same round.
    for my $fd (keys %writer) { $writer{$fd}->() if vec($w, $fd, 1) && $writer{$fd} }
    for my $fd (keys %reader) { $reader{$fd}->() if vec($r, $fd, 1) && $reader{$fd} }
    return;
}

# In a forked child: the parent's events are not ours.
sub forget {
    (%reader, %writer, %on_signal) = ();
    ($wake_reader, $wake_writer) = ();
    return;
}

1;
