#!/usr/bin/perl
# Process 1 of the VM once the root file system is there. Runs commands: one for the host, over the virtio port that init
# left as descriptor 3, and any number for on-node, over TCP. agent.pl NODE
use strict;
use warnings;
use Cwd qw(realpath);
use File::Basename qw(dirname);
use POSIX qw(WNOHANG);
use Socket qw(inet_aton pack_sockaddr_in AF_INET SOCK_STREAM IPPROTO_TCP TCP_NODELAY SOL_SOCKET SO_REUSEADDR);
use lib dirname(realpath(__FILE__)) . '/..';
use RdmaVm::Channel;
use RdmaVm::Loop;
use RdmaVm::Nodes;

# System calls that perl-base has no function for, by their numbers on x86_64.
use constant { SYS_SETRLIMIT => 160, SYS_SYNC => 162, SYS_MOUNT => 165, SYS_SETHOSTNAME => 170, SYS_CLOCK_SETTIME => 227 };
use constant { RLIMIT_NOFILE => 7, RLIMIT_MEMLOCK => 8, INFINITY => 18446744073709551615 };

my ($node) = @ARGV;
my %running;    # pid → { channel, streams }

$SIG{PIPE} = 'IGNORE';
RdmaVm::Loop::on_signal(CHLD => \&reap);
open my $port, '+<&=', 3 or die "port: $!\n";
my $host = serve($port);
$host->send('U', $node);
RdmaVm::Loop::turn(undef) while 1;

sub serve {
    my ($fh) = @_;
    my ($channel, $pid);
    $channel = RdmaVm::Channel->new(
        fh       => $fh,
        on_frame => sub {
            my ($letter, $payload) = @_;
            return if $channel->stream_frame($letter, $payload);
            if    ($letter eq 'N') { become($payload); $channel->send('U', $node) }
            elsif ($letter eq 'R') { $pid = run($channel, $payload) }
            elsif ($letter eq 'S') { signal_command($pid, $payload) if $pid }
        },
        # Whoever wanted the command has gone. What is in a session of its own survives, and must see the end of its input.
        on_end => sub {
            kill KILL => -$pid if $pid && delete $running{$pid};
            $channel->drop_sinks;
        },
    );
    return $channel;
}

# The N frame: clock, host name, and the writable shares as pairs of mount tag and path.
sub become {
    my ($time, $hostname, @shares) = unpack '(N/a*)*', $_[0];
    syscall(SYS_CLOCK_SETTIME, 0, pack 'q q', split /[.]/, $time);
    syscall(SYS_SETHOSTNAME, $hostname, length $hostname);
    append('/etc/hosts', "\n127.0.1.1 $hostname\n",
        map { my $n = $RdmaVm::Nodes::BY_NAME{$_}; "$n->{ipv4} $_\n$n->{ipv6} $_\n" } sort keys %RdmaVm::Nodes::BY_NAME);
    symlink dirname(realpath(__FILE__)) . '/on-node', '/usr/bin/on-node';
    while (my ($tag, $path) = splice @shares, 0, 2) { mount_share($tag, $path) }
    listen_for_on_node();
    return;
}

sub mount_share {
    my ($tag, $path) = @_;
    # mmap: the JVM and Maven map files; written data goes to the host at once or with fsync.
    my $options = 'trans=virtio,version=9p2000.L,msize=524288,cache=mmap,access=any';
    syscall(SYS_MOUNT, my $t = $tag, my $p = $path, my $type = '9p', 0, $options) == 0 or print "agent: mount of $path: $!\n";
    return;
}

sub append {
    my ($file, @text) = @_;
    open my $fh, '>>', $file or return print "agent: $file: $!\n";
    print {$fh} @text;
    close $fh;
    return;
}

sub listen_for_on_node {
    socket(my $server, AF_INET, SOCK_STREAM, IPPROTO_TCP) or die "socket: $!\n";
    setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($server, pack_sockaddr_in($RdmaVm::Nodes::AGENT_PORT, inet_aton($RdmaVm::Nodes::BY_NAME{$node}{ipv4})))
        or die "bind: $!\n";
    listen($server, 64) or die "listen: $!\n";
    RdmaVm::Loop::on_read($server, sub {
        accept(my $client, $server) or return;
        setsockopt($client, IPPROTO_TCP, TCP_NODELAY, 1);
        serve($client);
    });
    return;
}

sub run {
    my ($channel, $request) = @_;
    my ($memlock, $umask, $directory, $count, @rest) = unpack '(N/a*)*', $request;
    my @command = splice @rest, 0, $count;
    # The command must see which node it is on, whatever the asking side's environment says.
    my @environment = ((grep { !/^RDMA_NODE=/ } @rest), "RDMA_NODE=$node");

    pipe(my $in_reader, my $in_writer)   or die "pipe: $!\n";
    pipe(my $out_reader, my $out_writer) or die "pipe: $!\n";
    pipe(my $err_reader, my $err_writer) or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        RdmaVm::Loop::forget();
        POSIX::dup2(fileno $in_reader,  0);
        POSIX::dup2(fileno $out_writer, 1);
        POSIX::dup2(fileno $err_writer, 2);
        start($memlock, $umask, $directory, \@command, \@environment);
    }
    close $_ for $in_reader, $out_writer, $err_writer;
    $channel->source(1, $out_reader);
    $channel->source(2, $err_reader);
    $channel->sink(0, $in_writer);
    $running{$pid} = $channel;
    return $pid;
}

# In the child: becomes the command.
sub start {
    my ($memlock, $umask, $directory, $command, $environment) = @_;
    $SIG{$_} = 'DEFAULT' for qw(PIPE CHLD);
    POSIX::setsid();
    umask $umask;
    chdir $directory or give_up("cannot enter the working directory $directory: $!");
    limit(RLIMIT_NOFILE, 1 << 20);
    limit(RLIMIT_MEMLOCK, $memlock eq '' ? INFINITY : $memlock * 1024);
    # The limit does not bind a process with CAP_IPC_LOCK.
    unshift @$command, qw(/usr/bin/setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock --) if $memlock ne q();

    %ENV = map { /^([^=]*)=(.*)\z/s ? ($1, $2) : () } @$environment;
    { no warnings 'exec'; exec { $command->[0] } @$command }
    my ($error, $missing) = ("$!", $!{ENOENT});
    give_up("$command->[0]: $error", $missing ? 127 : 126);
}

sub limit {
    my ($resource, $value) = @_;
    # A variable, because syscall() refuses a constant for a buffer.
    my $limits = pack 'Q2', $value, $value;
    syscall(SYS_SETRLIMIT, $resource, $limits);
    return;
}

sub give_up {
    my ($message, $status) = @_;
    syswrite(STDERR, "rdma-vm: $message\n");
    POSIX::_exit($status // 126);
}

sub signal_command {
    my ($pid, $name) = @_;
    return if !$running{$pid};
    # What a terminal would send to the whole foreground group goes to the group; the rest to the command alone.
    kill $name => $name =~ /INT|HUP/ ? -$pid : $pid;
    return;
}

sub reap {
    while ((my $pid = waitpid(-1, WNOHANG)) > 0) {
        my $status  = $? & 127 ? 128 + ($? & 127) : $? >> 8;
        my $channel = delete $running{$pid} or next;
        # What the command wrote is in the pipes. A process that it left behind may keep them open, so their end is no
        # sign; what is there now is all there is.
        for my $stream (1, 2) { 1 while $channel->read_source($stream); $channel->end_source($stream) }
        # Whoever waited for the command may look at its files on the host at once.
        syscall(SYS_SYNC);
        $channel->send('X', $status);
    }
    return;
}
