package RdmaVm::Channel;

# Frames over a byte stream (a virtio-serial port, a socket). A frame is one letter, the length of its payload as 32
# bits, and the payload. Between the one who wants a command to run and the agent that runs it:
#
#   U           the agent is up                                                         from the agent
#   N           what the machine is to be (see Machine::greeting)                       to the agent
#   R           run: work directory, arguments, environment, limits                     to the agent
#   D           data of a stream: its number in the first byte, then the bytes          both ways
#   C           the writer of a stream closed it: its number                            both ways
#   B           the reader of a stream is gone (broken pipe): its number                both ways
#   A           so many bytes of a stream were passed on: its number, the count         both ways
#   S           a signal's name                                                         to the agent
#   X           the exit status, after all output; nothing follows                      from the agent
#
# A sender of data stays at most WINDOW bytes ahead of what was passed on. So a stream whose reader is slow holds up
# neither the other streams nor the signals, and nobody's memory fills.

use strict;
use warnings;
use Errno qw(EAGAIN EINTR);
use RdmaVm::Loop;

use constant WINDOW => 1 << 20;
use constant CHUNK  => 1 << 16;

# new(fh => …, on_frame => sub (letter, payload), on_end => sub (), preamble => a text before the first frame)
sub new {
    my ($class, %self) = @_;
    my $self = bless { %self, in => '', out => '' }, $class;
    RdmaVm::Loop::non_blocking($self->{fh});
    RdmaVm::Loop::on_read($self->{fh}, sub { $self->fill });
    return $self;
}

sub fill {
    my ($self) = @_;
    my $n = sysread($self->{fh}, $self->{in}, 4 * CHUNK, length $self->{in});
    if (!$n) {
        return if !defined $n && ($! == EAGAIN || $! == EINTR);
        return $self->end;
    }
    return if $self->{preamble} && !$self->skip_preamble;
    while (!$self->{ended} && length $self->{in} >= 5) {
        my ($letter, $length) = unpack 'a1 N', $self->{in};
        last if length $self->{in} < 5 + $length;
        my $payload = substr($self->{in}, 5, $length);
        substr($self->{in}, 0, 5 + $length, '');
        $self->{on_frame}->($letter, $payload);
    }
    return;
}

# Whether a word that comes before the first frame has come; what is before it is noise of a boot.
sub skip_preamble {
    my ($self) = @_;
    my $at = index $self->{in}, $self->{preamble};
    return 0 if $at < 0;
    substr($self->{in}, 0, $at + length $self->{preamble}, '');
    return !delete($self->{preamble}) || 1;
}

# Sends text that is no frame.
sub raw { my ($self, $text) = @_; $self->{out} .= $text; return $self->flush }

sub send {
    my ($self, $letter, $payload) = @_;
    return if $self->{ended};
    $self->{out} .= pack('a1 N', $letter, length $payload) . $payload;
    $self->flush;
    return;
}

sub flush {
    my ($self) = @_;
    while (length $self->{out}) {
        my $n = syswrite($self->{fh}, $self->{out}, CHUNK);
        if (!defined $n) {
            next if $! == EINTR;
            last if $! == EAGAIN;
            return $self->end;
        }
        substr($self->{out}, 0, $n, '');
    }
    if   (length $self->{out}) { RdmaVm::Loop::on_write($self->{fh}, sub { $self->flush }) }
    else                       { RdmaVm::Loop::no_write($self->{fh}) }
    return;
}

sub pending { my ($self) = @_; return !$self->{ended} && length $self->{out} > 0 }

sub end {
    my ($self) = @_;
    return if $self->{ended}++;
    RdmaVm::Loop::drop($self->{fh});
    $self->{on_end}->();
    return;
}

# A local file handle that belongs to this process alone is made non-blocking. One that is shared with our caller must stay
# as it is (the flag sits in the open file description, and would break the caller's own reads and writes). Then only what
# select() promised is done: one read, or one write of at most PIPE_BUF bytes.
use constant PIPE_BUF => 4096;

# Reads a local file handle into the channel as a stream, as far as the window allows.
# source(number, fh, shared => 0|1, on_done => sub ()): on_done after the end of the stream was told.
sub source {
    my ($self, $number, $fh, %options) = @_;
    RdmaVm::Loop::non_blocking($fh) if !$options{shared};
    $self->{source}{$number} = { fh => $fh, ahead => 0, on_done => $options{on_done} // sub { } };
    $self->resume_source($number);
    return;
}

sub resume_source {
    my ($self, $number) = @_;
    my $source = $self->{source}{$number} or return;
    RdmaVm::Loop::on_read($source->{fh}, sub { $self->read_source($number) });
    return;
}

# Returns whether there was something.
sub read_source {
    my ($self, $number) = @_;
    my $source = $self->{source}{$number} or return 0;
    my $n = sysread($source->{fh}, my $data, CHUNK);
    if (!$n) {
        return 0 if !defined $n && ($! == EAGAIN || $! == EINTR);
        $self->end_source($number);
        $self->send('C', chr $number);
        $source->{on_done}->();
        return 0;
    }
    $source->{ahead} += $n;
    RdmaVm::Loop::no_read($source->{fh}) if $source->{ahead} >= WINDOW;
    $self->send('D', chr($number) . $data);
    return 1;
}

sub end_source {
    my ($self, $number) = @_;
    my $source = delete $self->{source}{$number} or return;
    RdmaVm::Loop::drop($source->{fh});
    return;
}

# Writes a stream of the channel to a local file handle: sink(number, fh, shared => 0|1).
sub sink {
    my ($self, $number, $fh, %options) = @_;
    RdmaVm::Loop::non_blocking($fh) if !$options{shared};
    $self->{sink}{$number} = { fh => $fh, data => '', shared => $options{shared} };
    return;
}

sub write_sink {
    my ($self, $number) = @_;
    my $sink = $self->{sink}{$number} or return;
    my $passed = 0;
    while (length $sink->{data}) {
        my $n = syswrite($sink->{fh}, $sink->{data}, $sink->{shared} ? PIPE_BUF : CHUNK);
        if (!defined $n) {
            next if $! == EINTR;
            last if $! == EAGAIN;
            delete $self->{sink}{$number};
            RdmaVm::Loop::drop($sink->{fh});
            return $self->send('B', chr $number);
        }
        substr($sink->{data}, 0, $n, '');
        $passed += $n;
        last if $sink->{shared};
    }
    $self->send('A', pack 'C N', $number, $passed) if $passed;
    if (length $sink->{data}) {
        RdmaVm::Loop::on_write($sink->{fh}, sub { $self->write_sink($number) });
    } else {
        RdmaVm::Loop::no_write($sink->{fh});
        if ($sink->{closing}) {
            delete $self->{sink}{$number};
            RdmaVm::Loop::drop($sink->{fh});
        }
    }
    return;
}

# Closes the local file handles that are written to, whatever is still on its way to them.
sub drop_sinks {
    my ($self) = @_;
    my $sinks = delete $self->{sink} or return;
    RdmaVm::Loop::drop($_->{fh}) for values %$sinks;
    return;
}

# Whether output is still on its way to a local file handle.
sub sinking {
    my ($self) = @_;
    return scalar grep { length $_->{data} } values %{ $self->{sink} };
}

# Handles the frames that are about streams; returns false for the others.
sub stream_frame {
    my ($self, $letter, $payload) = @_;
    if ($letter eq 'D') {
        my $number = ord $payload;
        if (my $sink = $self->{sink}{$number}) {
            $sink->{data} .= substr $payload, 1;
            if ($sink->{shared}) { RdmaVm::Loop::on_write($sink->{fh}, sub { $self->write_sink($number) }) }
            else                  { $self->write_sink($number) }
        }
    } elsif ($letter eq 'C') {
        my $number = ord $payload;
        if (my $sink = $self->{sink}{$number}) {
            $sink->{closing} = 1;
            $self->write_sink($number) if !length $sink->{data};
        }
    } elsif ($letter eq 'B') {
        $self->end_source(ord $payload);
    } elsif ($letter eq 'A') {
        my ($number, $count) = unpack 'C N', $payload;
        my $source = $self->{source}{$number} or return 1;
        $source->{ahead} -= $count;
        $self->resume_source($number) if $source->{ahead} < WINDOW;
    } else {
        return 0;
    }
    return 1;
}

1;
