package RdmaVm::Switch;

# A switch between the network cards of more than two machines. It learns at which port an address is, so that a frame costs no
# third machine time. The hub of QEMU 7.2 changes the order of frames once its ports were full, and a queue pair takes a packet out
# of order for a lost one.

use strict;
use warnings;
use Errno qw(EAGAIN EINTR);
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);
use RdmaVm::Loop;

# Bytes that are kept for a machine that takes none; what comes then is lost, as in any switch.
use constant MOST => 16 << 20;

# On a cable each frame comes after its length: four bytes, which are followed by the addresses of target and source.
use constant { LENGTH => 4, ADDRESS => 6 };

# Makes a port for each name. Returns the other ends of their cables by name.
sub cables {
    my @names = @_;
    my ($self, %cables) = ({ ports => [], at => {} });
    for my $name (@names) {
        socketpair(my $fh, $cables{$name}, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!\n";
        my $port = { fh => RdmaVm::Loop::non_blocking($fh), in => '', out => '' };
        $port->{when_writable} = sub { transmit($port) };
        push @{ $self->{ports} }, $port;
        RdmaVm::Loop::on_read($fh, sub { receive($self, $port) });
    }
    return %cables;
}

sub receive {
    my ($self, $port) = @_;
    my $n = sysread $port->{fh}, $port->{in}, 262144, length $port->{in};
    if (!$n) {
        unplug($port) if defined $n || $! != EAGAIN && $! != EINTR;
        return;
    }
    my ($at, $end) = (0, length $port->{in});
    while ($end - $at >= LENGTH) {
        my $whole = LENGTH + unpack 'N', substr $port->{in}, $at, LENGTH;
        last if $end - $at < $whole;
        forward($self, $port, substr $port->{in}, $at, $whole);
        $at += $whole;
    }
    substr $port->{in}, 0, $at, '';
    transmit($_) for grep { $_ != $port && $_->{out} ne '' } @{ $self->{ports} };
    return;
}

sub forward {
    my ($self, $from, $frame) = @_;
    my ($target, $source) = unpack 'x' . LENGTH . 'a' . ADDRESS . 'a' . ADDRESS, $frame;
    $self->{at}{$source} = $from if !is_group($source);
    my $known = is_group($target) ? undef : $self->{at}{$target};
    for my $to ($known // @{ $self->{ports} }) {
        $to->{out} .= $frame if $to != $from && !$to->{unplugged} && length $to->{out} < MOST;
    }
    return;
}

sub is_group { my ($address) = @_; return ord($address) & 1 }

sub transmit {
    my ($port) = @_;
    my $n = syswrite $port->{fh}, $port->{out}, 262144;
    return unplug($port) if !defined $n && $! != EAGAIN && $! != EINTR;
    substr $port->{out}, 0, $n, '' if $n;
    return RdmaVm::Loop::no_write($port->{fh}) if $port->{out} eq '';
    RdmaVm::Loop::on_write($port->{fh}, $port->{when_writable});
    return;
}

# Its machine is gone.
sub unplug {
    my ($port) = @_;
    $port->{unplugged} = 1;
    $port->{out}       = '';
    RdmaVm::Loop::drop($port->{fh});
    return;
}

1;
