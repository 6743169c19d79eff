package RdmaVm::Loop;

# A small event loop: callbacks for readable and writable file handles and for signals. Signals are read from a descriptor
# (signalfd(2)). A handler would not do, not even one that writes to a pipe: Perl runs it between two of its operations, so
# a signal that comes right before select() enters the kernel would be noticed only when something else ends the wait.

use strict;
use warnings;
use Errno qw(EAGAIN EINTR);
use Fcntl;
use POSIX qw(SIG_BLOCK SIG_SETMASK);

use constant { SYS_SIGNALFD4 => 289, SFD_CLOEXEC => 02000000, SFD_NONBLOCK => 04000, SIGINFO_SIZE => 128 };

my (%reader, %writer, %on_signal, $signals);

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
    my $number = POSIX->can("SIG$name")->();
    $on_signal{$number} = $do;
    POSIX::sigprocmask(SIG_BLOCK, POSIX::SigSet->new($number)) or die "sigprocmask: $!\n";
    my $mask = 0;
    $mask |= 1 << $_ - 1 for keys %on_signal;
    # A variable, because syscall() refuses a temporary for a buffer.
    my $set = pack 'Q', $mask;
    my $fd  = syscall SYS_SIGNALFD4, $signals ? fileno $signals : -1, $set, length $set, SFD_CLOEXEC | SFD_NONBLOCK;
    die "signalfd: $!\n" if $fd < 0;
    return if $signals;
    open $signals, '+<&=', $fd or die "signalfd: $!\n";
    on_read($signals, sub {
        my $n = sysread $signals, my $came, 32 * SIGINFO_SIZE;
        if (!defined $n) {
            return if $! == EAGAIN || $! == EINTR;
            die "signalfd: $!\n";
        }
        # The first field of each entry is the signal's number.
        $on_signal{$_}->() for map { unpack 'L', substr $came, $_ * SIGINFO_SIZE, 4 } 0 .. $n / SIGINFO_SIZE - 1;
    });
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

# In a forked child: the parent's events are not ours, and what the child executes starts with no signal blocked.
sub forget {
    (%reader, %writer, %on_signal) = ();
    undef $signals;
    POSIX::sigprocmask(SIG_SETMASK, POSIX::SigSet->new);
    return;
}

1;
