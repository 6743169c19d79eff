package RdmaVm::Client;

# The side that wants a command to run: joins this process's own streams and signals to an agent's channel.

use strict;
use warnings;
use Cwd ();
use RdmaVm::Channel;
use RdmaVm::Loop;

# The payload of the R frame: memlock in KiB (or empty), umask, work directory, command and environment. NUL cannot occur
# in any of them, but empty strings and newlines can, so each goes with its length.
sub request {
    my ($memlock, @command) = @_;
    my $directory = Cwd::getcwd();
    die "the working directory does not exist any more\n" if !defined $directory;
    return pack '(N/a*)*', $memlock // '', umask, $directory, scalar @command, @command, environment();
}

# Perl's %ENV loses what is doubled or not NAME=VALUE; the kernel's own list has all of it, in order.
sub environment {
    open my $fh, '<:raw', '/proc/self/environ' or die "/proc/self/environ: $!\n";
    local $/ = undef;
    return split /\0/, <$fh> // '';
}

# Passes this process's standard streams and signals through the channel. on_kill is called with the signal's name at the
# fifth INT or TERM, for somebody who insists. Each may come twice: from the terminal, and from a script that passes it on.
sub join_streams {
    my ($channel, $on_kill) = @_;
    $SIG{PIPE} = 'IGNORE';
    $channel->source(0, \*STDIN, shared => 1);
    $channel->sink(1, \*STDOUT, shared => 1);
    $channel->sink(2, \*STDERR, shared => 1);
    my $insisted = 0;
    for my $name (qw(TERM INT HUP QUIT)) {
        # Who was started with a signal ignored (nohup, a background job of a script) keeps it so.
        next if ($SIG{$name} // '') eq 'IGNORE';
        RdmaVm::Loop::on_signal($name, sub {
            return $on_kill->($name) if $name =~ /TERM|INT/ && ++$insisted > 4;
            $channel->send('S', $name);
        });
    }
    return;
}

1;
