#!/usr/bin/env bash
# qemu-system-x86 7.2.22 (Debian 12): a hub changes the order of frames when the sockets of all its other ports were full.
#
# Expected: what comes out of a port has the order in which it went in; a frame may be lost, as from any Ethernet segment.
# Seen:     once the full socket is read again, the frame that waited at the port of the sender overtakes all that was kept for the
#           full port, five times of five. A queue pair of soft-RoCE takes that for a loss, goes back and repeats: between two of
#           four machines, 400 messages of 64 KiB raised out_of_seq_request by 8. Through a switch that keeps the order: by 0.
#           No machine is needed to see it: here three sockets are on the hub, and numbered frames go from one to the others.
#
# Needs Debian 12 on amd64, root and apt-get. Runs in namespaces of its own, so nothing is left behind.
# Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
packages=(qemu-system-x86=1:7.2+dfsg-7+deb12u18+b3 qemu-system-common=1:7.2+dfsg-7+deb12u18+b3
    libaio1=0.3.113-4 libbpf1=1:1.1.2-0+deb12u1 libcapstone4=4.0.2-5 libdaxctl1=76.1-1 libelf1=0.188-2.1 libfdt1=1.6.1-4+b1
    libfuse3-3=3.14.0-4 libglib2.0-0=2.74.6-2+deb12u9 libgnutls30=3.7.9-2+deb12u7 libhogweed6=3.8.1-2 libibverbs1=44.0-2
    libjpeg62-turbo=1:2.1.5-2 libkmod2=30+20221128-1 libndctl6=76.1-1 libnettle8=3.8.1-2 libnl-3-200=3.7.0-0.2+b1
    libnl-route-3-200=3.7.0-0.2+b1 libnuma1=2.0.16-1 libpixman-1-0=0.42.2-1 libpmem1=1.12.1-2 libpng16-16=1.6.39-2+deb12u5
    librdmacm1=44.0-2 libsasl2-2=2.1.28+dfsg-10 libseccomp2=2.5.4-1+deb12u1 libslirp0=4.7.0-1 libssl3=3.0.20-1~deb12u2
    libudev1=252.39-1~deb12u2 liburing2=2.3-3 libvdeplug2=4.0.1-4)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net

export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/lib/x86_64-linux-gnu
export QEMU_MODULE_DIR=$PWD/root/usr/lib/x86_64-linux-gnu/qemu
cat > hub.pl <<'PERL'
use strict; use warnings; use Fcntl; use Socket;
my (@ours, @theirs);
for my $n (0 .. 2) {
    socketpair($ours[$n], $theirs[$n], AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
    fcntl $theirs[$n], F_SETFD, 0;
    fcntl $ours[$n], F_SETFL, O_NONBLOCK;
}
my $pid = fork // die;
if (!$pid) {
    my @hub = map { ('-netdev', "socket,id=s$_,fd=" . fileno $theirs[$_], '-netdev', "hubport,id=p$_,hubid=0,netdev=s$_") } 0 .. 2;
    exec 'root/usr/bin/qemu-system-x86_64', qw(-M none -display none -nodefaults -no-user-config), @hub;
    die 'exec';
}
close $_ for @theirs;

# A frame is 1,088 bytes long after its length. Its number follows the Ethernet header.
my $frames = join '', map { pack 'N/a*', "\2\0\0\0\0\2\2\0\0\0\0\1" . pack('n N', 0x88b5, $_) . "\0" x 1070 } 0 .. 2999;
my $sent = 0;
sub ready { my ($fh, $write, $wait) = @_; vec(my $bits = '', fileno $fh, 1) = 1; return select $write ? undef : $bits, $write ? $bits : undef, undef, $wait }
sub give { while ($sent < length $frames && ready($ours[0], 1, 1)) { $sent += syswrite($ours[0], $frames, 8192, $sent) // 0 } }

# First nobody reads port 1, so that frames are kept for it; then nobody reads port 2 either, so that one waits at port 0.
while ($sent < 600 * 1092) { $sent += syswrite($ours[0], $frames, 8192, $sent) // 0; sysread $ours[2], my $ignored, 65536 }
give();
# Then port 1 is read until all has come.
my ($in, @numbers) = ('');
while (@numbers < 3000 && ready($ours[1], 0, 2)) {
    sysread $ours[1], $in, 65536, length $in;
    push @numbers, unpack 'x18 N', substr $in, 0, 1092, '' while length $in >= 1092;
    $sent += syswrite($ours[0], $frames, 8192, $sent) // 0 if $sent < length $frames;
}
kill KILL => $pid;
my @back = grep { $numbers[$_] < $numbers[$_ - 1] } 1 .. $#numbers;
print scalar(@numbers), ' frames came; ', @back ? "number $numbers[$back[0] - 1] before number $numbers[$back[0]]" : 'all in order', "\n";
exit !@back;
PERL

root/usr/bin/qemu-system-x86_64 --version | head -1 || exit 2
for _ in {1..5}; do perl hub.pl 2> errors || { cat errors; changed; }; done
