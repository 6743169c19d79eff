package RdmaVm::Machine;

# One QEMU process: its command line, its start (from a snapshot or from the kernel on), and what is left to say when it
# ends. Also the making of the snapshot.

use strict;
use warnings;
use Fcntl qw(:flock F_SETFD FD_CLOEXEC);
use File::Basename qw(basename dirname);
use POSIX qw(WNOHANG);
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);
use RdmaVm::Channel;
use RdmaVm::Loop;

our $FAILED = 125;

# The first line of a manifest; lib/image-format.sh has the same.
my $IMAGE_FORMAT = '# rdmatest image 3';

# The set of devices is part of a snapshot, so there are always so many shares; those that are not asked for show nothing.
our $SHARES = 4;

use constant { SYS_PRCTL => 157, PR_SET_PDEATHSIG => 1, SIGKILL => 9 };

my $LIB    = dirname(dirname(__FILE__));
my $QEMU   = $ENV{RDMA_VM_QEMU}   || 'qemu-system-x86_64';
my $MEMORY = $ENV{RDMA_VM_MEMORY} || '2G';
my $CPUS   = $ENV{RDMA_VM_CPUS}   || 2;

sub fail {
    my ($message) = @_;
    chomp $message;
    print {*STDERR} "rdma-vm: $message\n";
    exit $FAILED;
}

sub qemu_program {
    my ($program) = grep { -f && -x _ } map { "$_$QEMU" } $QEMU =~ m{/} ? '' : map { "$_/" } split /:/, $ENV{PATH} // '';
    return $program;
}

sub require_qemu {
    qemu_program() or fail("QEMU is missing: there is no $QEMU on the PATH; run " . dirname($LIB)
            . '/bin/setup (or install the package qemu-system-x86)');
    return;
}

# The machine's root file system is the host's, by 9p. The QEMU of some distributions is built without it.
sub require_9p {
    open my $help, '-|', $QEMU, qw(-device help) or fail("$QEMU cannot be started: $!");
    my $devices = do { local $/ = undef; <$help> } // '';
    close $help;
    return if $devices =~ /"virtio-9p-pci"/;
    open my $release, '<', ($ENV{RDMA_VM_ROOT} // '') . '/etc/os-release';
    my ($system) = map { /^PRETTY_NAME="?([^"\n]*)/ } $release ? <$release> : ();
    fail("the QEMU of this host, $QEMU, is built without the 9p file system (virtio-9p-pci), which the virtual machine needs. "
            . 'On ' . ($system // 'this system') . ', install a QEMU that has it (qemu-system-x86), or name one in RDMA_VM_QEMU');
    return;
}

# What make-image.sh leaves; its parts are checked when it is made, and by setup. An image of another version may lack some.
sub require_image {
    my ($image) = @_;
    open my $kernel, '<:raw', "$image/vmlinux" or fail("the image $image has no kernel: $!; remove it and try again");
    read $kernel, my $magic, 4;
    fail("the image $image is incomplete; remove it and try again")
        if ($magic // '') ne "\x7fELF" || slurp("$image/manifest") ne $IMAGE_FORMAT || !-s "$image/initramfs";
    return;
}

# --- command line ---------------------------------------------------------------------------------------------------

sub escaped { my ($path) = @_; $path =~ s/,/,,/g; return $path }

sub arguments {
    my (%how) = @_;
    my @shares = @{ $how{shares} };
    push @shares, "$LIB/guest" while @shares < $SHARES;

    my $memory = $how{memory_file}
        ? 'memory-backend-file,id=memory,size=' . $MEMORY . ',mem-path=' . escaped($how{memory_file}) . ",share=$how{memory_shared}"
        : "memory-backend-ram,id=memory,size=$MEMORY";
    my @console = qw(console=ttyS0 panic=-1 quiet mitigations=off cryptomgr.notests tsc=reliable no_timer_check rodata=off
        random.trust_cpu=on);
    push @console, 'rdma.device=' . device() if device() ne 'rxe0';
    return (
        qw(-nodefaults -no-user-config -display none -no-reboot),
        -machine => 'q35,hpet=off,memory-backend=memory', -object => $memory, -m => $MEMORY, -smp => $CPUS,
        @{ $how{accelerator} },
        -kernel => "$how{image}/vmlinux", -initrd => "$how{image}/initramfs",
        -append => join(' ', @console, $ENV{RDMA_VM_APPEND} // ()),
        -chardev => "socket,id=console,fd=$how{fd}{console}", -serial => 'chardev:console',
        -chardev => "socket,id=agent,fd=$how{fd}{agent}",
        -device  => 'virtio-serial-pci,id=serial,ioeventfd=off',
        -device  => 'virtserialport,bus=serial.0,nr=1,chardev=agent',
        # Alone, the NIC has no cable at all: its packets are then dropped. A hub without another port would keep them, and
        # with each a reference to the queue pair that sent it: destroying that takes the kernel 50 s.
        ($how{fd}{cable} ? (-netdev => "socket,id=cable,fd=$how{fd}{cable}") : ()),
        -device  => 'virtio-net-pci,romfile=' . ($how{fd}{cable} ? ',netdev=cable' : ''),
        -device  => 'virtio-rng-pci',
        -device  => 'vmgenid,guid=auto',
        -virtfs  => 'local,id=root,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap',
        (map {
            my $mode = $_ < @{ $how{shares} } ? '' : ',readonly=on';
            (-virtfs => "local,id=share$_,path=" . escaped($shares[$_])
                . ",mount_tag=share$_,security_model=none,multidevs=remap$mode");
        } 0 .. $#shares),
        ($how{fd}{monitor} ? (-chardev => "socket,id=monitor,fd=$how{fd}{monitor}", -mon => 'chardev=monitor,mode=control') : ()),
        ($how{fd}{state}   ? (-incoming => 'defer') : ()),
    );
}

# --- a machine that runs --------------------------------------------------------------------------------------------

# start(name, image, template or undef, accelerator, cable, shares, on_up, on_end, …); on_end gets a sentence.
sub start {
    my ($class, %self) = @_;
    my $self = bless { %self, console => '', words => '' }, $class;

    my %fd = ();
    my (%ours);
    for my $what (qw(console agent), $self->{monitored} || $self->{template} ? 'monitor' : ()) {
        socketpair($ours{$what}, $fd{$what}, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or fail("socketpair: $!");
    }
    pipe(my $words, $fd{words}) or fail("pipe: $!");
    my $cable = delete $self->{cable};
    $fd{cable} = $cable if $cable;
    my %memory = ();
    if ($self->{template}) {
        open $fd{state}, '<:raw', "$self->{template}/state" or die \"the snapshot cannot be read: $!\n";
        %memory = (memory_file => "$self->{template}/memory", memory_shared => 'off');
    } elsif ($self->{memory_file}) {
        %memory = (memory_file => $self->{memory_file}, memory_shared => 'on');
    }
    my $state     = $fd{state} ? fileno $fd{state} : undef;
    my @arguments = arguments(%$self, %memory, fd => { map { $_ => fileno $fd{$_} } keys %fd });

    my $parent = $$;
    $self->{pid} = fork // fail("fork: $!");
    if (!$self->{pid}) {
        # A group of its own: a terminal's Ctrl-C is for us, who pass it on, and not for QEMU.
        setpgrp 0, 0;
        # This outlives exec. If our parent died before it took effect, nobody would ever kill us.
        syscall SYS_PRCTL, PR_SET_PDEATHSIG, SIGKILL;
        POSIX::_exit(1) if getppid != $parent;
        fcntl $_, F_SETFD, 0 for values %fd;
        open STDIN, '<', '/dev/null';
        open STDOUT, '>&', $fd{words};
        open STDERR, '>&', $fd{words};
        { no warnings 'exec'; exec $QEMU, @arguments }
        print {*STDERR} "$QEMU cannot be started: $!\n";
        POSIX::_exit(127);
    }
    close $_ for values %fd;
    $self->{monitor} = $ours{monitor};

    $self->collect($ours{console}, 'console');
    $self->collect($words, 'words');
    $self->{channel} = RdmaVm::Channel->new(
        fh       => RdmaVm::Loop::non_blocking($ours{agent}),
        on_frame => sub { $self->frame(@_) },
        on_end   => sub { $self->end },
        # Before the agent, init speaks: one word.
        preamble => $self->{template} ? undef : "READY\n",
    );
    if (defined $state) {
        $self->keep_memory_in_file;
        $self->command(qq({"execute":"migrate-incoming","arguments":{"uri":"fd:$state"}}));
    }
    return $self;
}

# Keeps the last of what the machine says, for the case that it dies.
sub collect {
    my ($self, $fh, $where) = @_;
    RdmaVm::Loop::non_blocking($fh);
    $self->{"$where handle"} = $fh;
    RdmaVm::Loop::on_read($fh, sub {
        my $n = sysread $fh, my $text, 65536;
        return if !defined $n;
        return RdmaVm::Loop::drop($fh) if !$n;
        $self->{$where} = substr $self->{$where} . $text, -65536 if length $self->{$where} . $text > 65536;
        $self->{$where} .= $text if length $self->{$where} < 65536;
        print {*STDERR} $text if $ENV{RDMA_VM_DEBUG};
    });
    return;
}

# What makes a machine of the snapshot, or a fresh one, that of this run.
sub greet {
    my ($self, $nodes, @shares) = @_;
    my $seed = join '', map { sprintf '%08x', int rand 2**32 } 1 .. 16;
    $self->{channel}->raw("GO $self->{name} $seed $LIB/guest/agent.pl\n");
    open my $fh, '<', '/proc/sys/kernel/hostname';
    chomp(my $host = <$fh> // 'localhost');
    my $n = 0;
    $self->{greeting} = [ $nodes > 1 ? $self->{name} : $host, map { ('share' . $n++, $_) } @shares ];
    return;
}

sub frame {
    my ($self, $letter, $payload) = @_;
    if ($letter eq 'U' && $self->{greeting}) {
        # perl-base has no Time::HiRes; date gives the nanoseconds.
        $self->{channel}->send('N', pack '(N/a*)*', now(), @{ delete $self->{greeting} });
    } elsif ($letter eq 'U') {
        $self->{on_up}->();
    } elsif ($self->{on_frame}) {
        $self->{on_frame}->($letter, $payload);
    }
    return;
}

# Seconds and nanoseconds, by clock_gettime.
sub now {
    my $time = "\0" x 16;
    syscall 228, 0, $time;
    return join '.', unpack 'q q', $time;
}

# The agent's port was closed, so QEMU is gone or going.
sub end {
    my ($self) = @_;
    return if $self->{killed};
    $self->kill;
    my $how = $self->{status} & 127 ? 'was killed by signal ' . ($self->{status} & 127) : 'ended with status ' . ($self->{status} >> 8);
    my $which = $self->{name} eq 'a' ? '' : " $self->{name}";
    $self->{on_end}->("the virtual machine$which ended: QEMU $how", !($self->{status} & 127));
    return;
}

sub kill {
    my ($self) = @_;
    return if $self->{killed}++;
    # A QEMU that is ending by itself is left a moment to say why.
    for (1 .. 50) {
        last if !$self->{channel}{ended} || ($self->{reaped} = waitpid($self->{pid}, WNOHANG)) == $self->{pid};
        select undef, undef, undef, 0.02;
    }
    if (!$self->{reaped}) { kill KILL => $self->{pid}; waitpid $self->{pid}, 0 }
    $self->{status} = $?;
    for my $where ('console', 'words') {
        my $fh = $self->{"$where handle"};
        while (defined fileno $fh && sysread $fh, my $text, 65536) { $self->{$where} .= $text }
        RdmaVm::Loop::drop($fh) if defined fileno $fh;
    }
    return;
}

# The last lines of console and QEMU.
sub last_words {
    my ($self) = @_;
    $self->{channel}{ended} = 1 if $self->{killed};
    $self->kill;
    my $text = '';
    for my $part ([ 'QEMU', $self->{words} ], [ 'console', $self->{console} ]) {
        my ($who, $said) = @$part;
        $said =~ s/\r|\e\[[0-9;?]*[A-Za-z]|\ec//g;
        my @lines = grep { /\S/ } split /\n/, $said;
        @lines = @lines[-20 .. -1] if @lines > 20;
        my $label = $self->{name} eq 'b' ? "$who of node b" : $who;
        $text .= "$label: $_\n" for @lines;
    }
    return $text;
}

# --- acceleration and snapshots -------------------------------------------------------------------------------------

# Without what takes longer emulated than the way around it. A string instruction moves one byte a turn, and the kernel takes
# that of bytes instead of that of words wherever it is told that the processor is fast at it (ERMS, FSRM). A carry-less
# multiplication is 64 turns for each 16 bytes of a packet's checksum, a look-up in tables 16 turns.
my $EMULATED = 'max,erms=off,fsrm=off,pclmulqdq=off,vpclmulqdq=off';

my %ARGUMENTS_OF = (
    tcg => [ -accel => 'tcg,thread=multi', -cpu => $EMULATED ],
    kvm => [ -accel => 'kvm', -cpu => 'host' ],
);

# Real KVM where it works, found out by one boot and remembered until the next boot of this host. The device node alone
# says little: in nested machines it may exist and not run an ordinary kernel.
sub accelerator {
    my ($image, $cache) = @_;
    my $wanted = $ENV{RDMA_VM_ACCEL} || 'auto';
    return $ARGUMENTS_OF{$wanted} if $ARGUMENTS_OF{$wanted};
    fail("RDMA_VM_ACCEL=$wanted is not known; allowed: auto, kvm, tcg") if $wanted ne 'auto';
    return $ARGUMENTS_OF{tcg} if !(-r '/dev/kvm' && -w _);
    my $boot = slurp('/proc/sys/kernel/random/boot_id');
    my $note = "$cache/kvm-$boot-" . $<;
    my $answer = slurp($note);
    if ($answer eq '') {
        $answer = kvm_works($image) ? 'kvm' : 'tcg';
        if (open my $fh, '>', $note) { print {$fh} "$answer\n"; close $fh }
    }
    return $ARGUMENTS_OF{$answer} // $ARGUMENTS_OF{tcg};
}

sub kvm_works {
    my ($image) = @_;
    my $machine = RdmaVm::Machine->start(
        name => 'a', image => $image, accelerator => $ARGUMENTS_OF{kvm}, shares => [], on_up => sub { }, on_end => sub { });
    my $deadline = time + 10;
    RdmaVm::Loop::turn(1) while time < $deadline && !$machine->{channel}{ended} && $machine->{channel}{preamble};
    my $works = !$machine->{channel}{ended} && !$machine->{channel}{preamble};
    $machine->kill;
    return $works;
}

sub slurp {
    my ($file) = @_;
    open my $fh, '<', $file or return '';
    my $line = <$fh> // '';
    chomp $line;
    return $line;
}

# The folder with a snapshot for this image and these settings; makes one if there is none. Undef if there is no place for
# one: that makes starts slower and nothing else.
sub template {
    my ($image, $cache, $accelerator) = @_;
    if (($ENV{RDMA_VM_SNAPSHOT} // '1') eq '0') {
        require_9p();
        return undef;
    }
    my $folder = "$cache/templates/" . key($image, $accelerator);
    if (whole($folder)) {
        # Pruning goes by the time of the last use.
        utime undef, undef, $folder;
        return $folder;
    }
    require_9p();
    my $made = eval { make_template($folder, $image, $accelerator); 1 };
    # A machine that does not boot will not boot in a second try either.
    fail(${$@}) if !$made && ref $@;
    print {*STDERR} "rdma-vm: no snapshot, so every start takes some seconds longer: $@" if !$made;
    return whole($folder) ? $folder : undef;
}

# The name of the machine's RDMA device. The kernel takes up to 63 characters.
sub device {
    my $name = $ENV{RDMA_VM_DEVICE} || 'rxe0';
    fail("RDMA_VM_DEVICE=$name is no name of a device; it takes letters, digits, '_' and '-', such as mlx5_0")
        if $name !~ /\A[A-Za-z0-9_-]{1,63}\z/;
    return $name;
}

# Everything that a snapshot depends on.
sub key {
    my ($image, $accelerator) = @_;
    my $qemu = qemu_program();
    my $facts = join ' ', basename($image), (map { join ':', (stat)[7, 9] } "$image/vmlinux", "$image/initramfs", $qemu),
        @{ arguments_that_matter($accelerator) };
    $facts .= cpu_model() if "@$accelerator" =~ /kvm/;
    # A checksum for a name, not against forgery: two of 32 bits over the string and its reverse are enough.
    return join '', map { sprintf '%08x', fnv($_) } $facts, scalar reverse $facts;
}

sub arguments_that_matter {
    my ($accelerator) = @_;
    return [ arguments(image => '', shares => [], accelerator => $accelerator, fd => { console => 0, agent => 0 }) ];
}

sub fnv {
    my $hash = 2166136261;
    $hash = (($hash ^ $_) * 16777619) & 0xffffffff for unpack 'C*', $_[0];
    return $hash;
}

sub cpu_model {
    open my $fh, '<', '/proc/cpuinfo' or return '';
    return join '', grep { /^(model name|stepping|microcode|flags)/ } map { scalar <$fh> // '' } 1 .. 30;
}

sub facts { my ($folder) = @_; return join ' ', map { (stat "$folder/$_")[7, 9] } qw(memory state) }

sub whole { my ($folder) = @_; return -f "$folder/facts" && slurp("$folder/facts") eq facts($folder) }

sub discard { my ($folder) = @_; unlink "$folder/facts"; return }

sub make_template {
    my ($folder, $image, $accelerator) = @_;
    my $templates = dirname($folder);
    open my $lock, '>', "$templates/lock" or die "$templates/lock: $!\n";
    flock $lock, LOCK_EX;
    return if whole($folder);    # another process was faster
    my $free = free_megabytes($templates);
    die "only $free MB are free for $templates\n" if defined $free && $free < 400;
    remove($folder);
    mkdir $folder or die "$folder: $!\n";

    my $broken;
    my $machine = RdmaVm::Machine->start(
        name => 'a', image => $image, accelerator => $accelerator, shares => [], memory_file => "$folder/memory", monitored => 1,
        on_up => sub { }, on_end => sub { $broken //= $_[0] });
    my $limit    = $ENV{RDMA_VM_BOOT_TIMEOUT} || 120;
    my $deadline = time + $limit;
    while ($machine->{channel}{preamble} && !$broken) {
        RdmaVm::Loop::turn(1);
        $broken = "the virtual machine did not come up within $limit s (RDMA_VM_BOOT_TIMEOUT)" if time > $deadline;
    }
    if (!$broken) {
        my $quoted = $folder =~ s/'/'\\''/gr;
        my $state  = "exec:cat >'$quoted/state'" =~ s/(["\\])/\\$1/gr;
        $machine->keep_memory_in_file;
        $machine->command(qq({"execute":"migrate","arguments":{"uri":"$state"}}));
        my $answer = '';
        until ($answer =~ /"status": "completed"/) {
            $broken = "QEMU cannot save the machine's state: $answer" if $answer =~ /"failed"|"error"/ || time > $deadline;
            last if $broken;
            select undef, undef, undef, 0.02;
            $answer = $machine->command('{"execute":"query-migrate"}');
        }
    }
    if ($broken) {
        my $message = "$broken\n" . $machine->last_words;
        $machine->kill;
        remove($folder);
        die \$message;
    }
    $machine->kill;
    open my $fh, '>', "$folder/facts.new" or die "$folder: $!\n";
    print {$fh} facts($folder), "\n";
    close $fh or die "$folder: $!\n";
    rename "$folder/facts.new", "$folder/facts";
    return;
}

# Undef where that is not to be found out.
sub free_megabytes {
    my ($folder) = @_;
    local $ENV{LC_ALL} = 'C';
    # Without a shell, to which a quote in the path would mean something.
    open my $df, '-|', 'df', '-Pm', $folder or return undef;
    my ($free) = join('', <$df>) =~ /\n\S+\s+\d+\s+\d+\s+(\d+)/;
    close $df;
    return $free;
}

sub remove {
    my ($folder) = @_;
    unlink "$folder/facts", glob "\Q$folder\E/*";
    rmdir $folder;
    return;
}

# A snapshot holds the state of the devices only; that of the memory stays in its file.
sub keep_memory_in_file {
    my ($self) = @_;
    $self->command('{"execute":"qmp_capabilities"}');
    $self->command('{"execute":"migrate-set-capabilities","arguments":'
            . '{"capabilities":[{"capability":"x-ignore-shared","state":true}]}}');
    return;
}

# Sends a command to QEMU's monitor and returns the answer; the events between them are of no interest.
sub command {
    my ($self, $json) = @_;
    my $monitor = $self->{monitor};
    syswrite $monitor, "$json\n";
    my $answer = '';
    while ($answer !~ /"return"|"error"/) {
        my $ready = '';
        vec($ready, fileno $monitor, 1) = 1;
        select($ready, undef, undef, 10) > 0 or return '"error": no answer';
        sysread($monitor, $answer, 65536, length $answer) or return '"error": no answer';
    }
    return $answer;
}

1;
