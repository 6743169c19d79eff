#!/usr/bin/perl
# vm.pl IMAGE NODES COMMAND…: starts the virtual machines, runs the command on node a, ends with its exit status.
# vm.pl IMAGE template: only makes the snapshot, so that the next start is a fast one.
#
# This process is the only parent of QEMU and keeps everything that a run needs in descriptors and memory: there is no run
# folder, so nothing is left behind however it ends, and the kernel kills QEMU when this process dies.
use strict;
use warnings;
use Cwd qw(realpath);
use Errno qw(EINTR);
use Fcntl qw(:flock F_GETFD F_SETFD FD_CLOEXEC);
use File::Basename qw(basename dirname);
use POSIX qw(WNOHANG);
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);
use lib dirname(realpath(__FILE__));
use RdmaVm::Channel;
use RdmaVm::Client;
use RdmaVm::Loop;
use RdmaVm::Machine;
use RdmaVm::Nodes;
use RdmaVm::Switch;

# A QEMU that ends at once leaves us sockets without a reader: that is to become a message, not our own end.
$SIG{PIPE} = 'IGNORE';

my ($image, $nodes, @command) = @ARGV;
my $cache = dirname(dirname($image));
# As long as this is held, nobody prunes the image.
open my $in_use, '<', "$image/manifest" or RdmaVm::Machine::fail("cannot read $image/manifest: $!");
flock $in_use, LOCK_SH;

RdmaVm::Machine::require_image($image);
RdmaVm::Machine::require_qemu();
my $accelerator = RdmaVm::Machine::accelerator($image, $cache);
my $template    = RdmaVm::Machine::template($image, $cache, $accelerator);
exit($template ? 0 : $RdmaVm::Machine::FAILED) if $nodes eq 'template';

my @shares = writable_shares();
my $status = eval { run($template) };
if (!defined $status) {
    my $problem = $@;
    RdmaVm::Machine::fail(ref $problem ? $$problem : $problem) if !ref $problem || !$template;
    # The snapshot does not work here (any more): without it the start is slower, and does not depend on it.
    RdmaVm::Machine::discard($template);
    $status = eval { run(undef) } // RdmaVm::Machine::fail(ref $@ ? ${$@} : $@);
}
exit $status;

# Dies with a reference to a message when a machine did not come up, which another try may cure, and with a plain message
# when one died in mid-run.
sub run {
    my ($from) = @_;
    my ($up, $status, $broken, $by_itself, @machines) = (0);

    # A cable connects two nodes, and a switch more.
    my @names = @RdmaVm::Nodes::NAMES[0 .. $nodes - 1];
    my %cables;
    if ($nodes == 2) {
        socketpair($cables{a}, $cables{b}, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!\n";
    } elsif ($nodes > 2) {
        %cables = RdmaVm::Switch::cables(@names);
    }
    for my $name (@names) {
        my $machine = RdmaVm::Machine->start(
            name        => $name,
            image       => $image,
            template    => $from,
            accelerator => $accelerator,
            cable       => delete $cables{$name},
            shares      => \@shares,
            on_end      => sub { ($broken, $by_itself) = @_ if !$broken },
            on_up       => sub { $up++ },
        );
        push @machines, $machine;
        $machine->greet($nodes, @shares);
    }
    my ($first) = @machines;
    $first->{on_frame} = sub {
        my ($letter, $payload) = @_;
        $first->{channel}->stream_frame($letter, $payload) or $letter eq 'X' && ($status = $payload);
    };
    # Until the command runs there is nothing to forward a signal to: then it ends us as it would end any process, and the
    # kernel takes QEMU along.
    my $limit    = $ENV{RDMA_VM_BOOT_TIMEOUT} || 120;
    my $deadline = time + $limit;
    while ($up < $nodes && !$broken) {
        RdmaVm::Loop::turn(1);
        $broken = "the virtual machine did not come up within $limit s (RDMA_VM_BOOT_TIMEOUT)" if time > $deadline;
    }
    if ($broken) {
        my $message = join '', "$broken\n", map { $_->last_words } @machines;
        $_->kill for @machines;
        # One that somebody killed is no sign of a bad snapshot.
        die $by_itself ? \$message : $message;
    }

    $first->{channel}->send('R', RdmaVm::Client::request($ENV{RDMA_VM_MEMLOCK}, @command));
    RdmaVm::Client::join_streams($first->{channel}, sub { $status = 128 + ($_[0] eq 'INT' ? 2 : 15) });
    RdmaVm::Loop::turn(undef) until defined $status || $broken;
    $_->kill for @machines;
    # What the command wrote before its end still has to get to a slow reader.
    RdmaVm::Loop::turn(undef) while defined $status && $first->{channel}->sinking;
    die join '', "$broken while the command ran\n", map { $_->last_words } @machines if !defined $status;
    return $status;
}

# The folders that the command may write: the project and those of RDMA_VM_RW.
sub writable_shares {
    my $here = Cwd::getcwd() // RdmaVm::Machine::fail('the working directory does not exist any more');
    my $project = project_of($here);
    my @folders;
    for my $folder ($project, split /:/, $ENV{RDMA_VM_RW} // '') {
        next if $folder eq '';
        my $real = realpath($folder);
        RdmaVm::Machine::fail("RDMA_VM_RW: $folder is not a folder") if !defined $real || !-d $real;
        # The root itself stays read-only (with the overlay), as do folders that are shared already.
        next if $real eq '/' || grep { index("$real/", "$_/") == 0 } @folders;
        push @folders, $real;
    }
    my $most = $RdmaVm::Machine::SHARES;
    RdmaVm::Machine::fail("RDMA_VM_RW: at most $most writable folders, with the project's") if @folders > $most;
    return @folders;
}

# The root of the Maven project that a folder is in, or the folder itself: the nearest folder upwards that has a pom.xml or
# .mvn, and from there each one upwards whose pom.xml has the folder below it as a module. A pom.xml that somebody left in the
# home directory, or in a folder of everybody, makes that no project.
sub project_of {
    my ($here) = @_;
    my $project;
    for (my $folder = $here; $folder ne '/'; $folder = dirname($folder)) {
        my $mode = (stat $folder)[2] // 0;
        next if $folder ne $here && ($mode & 0002 || $folder eq (realpath($ENV{HOME} // '/') // ''));
        if (!defined $project) {
            $project = $folder if -e "$folder/pom.xml" || -d "$folder/.mvn";
        } elsif (-d "$folder/.mvn" || has_module("$folder/pom.xml", substr $project, 1 + length $folder)) {
            $project = $folder;
        }
    }
    return $project // $here;
}

# Whether a POM names a folder, relative to its own, as a module.
sub has_module {
    my ($pom, $module) = @_;
    open my $fh, '<', $pom or return 0;
    my $text = do { local $/ = undef; <$fh> } // '';
    return $text =~ m{<module>\s*(?:\./)?\Q$module\E/?(?:pom\.xml)?\s*</module>};
}
