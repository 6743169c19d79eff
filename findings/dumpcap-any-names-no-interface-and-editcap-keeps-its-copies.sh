#!/usr/bin/env bash
# dumpcap 4.0.17 and tcpdump 4.99.3 (Debian 12) write different link types for "-i any", and no option of editcap -d finds the packet
# that "any" and an interface captured.
#
# Expected: one link type for "-i any", as both programs use the same libpcap 1.10.3; and "editcap -d", which removes duplicates, leaves
#           each packet once, with -I for headers that differ.
# Seen:     tcpdump writes LINUX_SLL2 (276), whose header has the number of the interface. dumpcap writes LINUX_SLL (113), which has
#           none. In a capture of "any" and of eth2 by mergecap or dumpcap each packet of eth2 is there twice, with the same time, as
#           16 + n and as 14 + n bytes. editcap -d keeps both, also with -I 14, 16 or 20, as it compares lengths. A program that
#           counts retransmissions by sequence numbers has to know the two interfaces apart.
#
# Needs Debian 12 on amd64, root, apt-get and veth. Runs in namespaces of its own, so nothing is left behind.
# Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
packages=(wireshark-common=4.0.17-0+deb12u3 libwiretap13=4.0.17-0+deb12u3 libwsutil14=4.0.17-0+deb12u3 tcpdump=4.99.3-1
    libpcap0.8=1.10.3-1 libnl-3-200=3.7.0-0.2+b1 libnl-genl-3-200=3.7.0-0.2+b1 libglib2.0-0=2.74.6-2+deb12u9
    libdbus-1-3=1.14.10-1~deb12u1)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net --mount --mount-proc

export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/lib/x86_64-linux-gnu
PATH=$PWD/root/usr/bin:$PATH
# The other end is in a namespace of its own: there "any" does not see it.
unshare --net sleep infinity &
peer=$!
until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
ip link add eth2 type veth peer name swp1 || cant_tell "there is no veth"
{ ip link set swp1 netns $peer && nsenter -t $peer -n ip link set swp1 up && ip addr add 192.0.2.1/24 dev eth2 && ip link set eth2 up; } || exit 2
ip neigh add 192.0.2.2 lladdr 00:00:5e:00:53:02 dev eth2 || exit 2

filter=(udp port 4791)
dumpcap -q -P -i any -f "${filter[*]}" -c 3 -w dumpcap.pcap 2> dumpcap.log &
captures=($!)
tcpdump -Z root -i any -c 3 -w tcpdump.pcap "${filter[@]}" 2> tcpdump.log &
captures+=($!)
tcpdump -Z root -i eth2 -c 3 -w eth2.pcap "${filter[@]}" 2> eth2.log &
captures+=($!)
for _ in {1..600}; do
    grep -q '^File:' dumpcap.log && grep -q '^tcpdump: listening' tcpdump.log && grep -q '^tcpdump: listening' eth2.log && break
    sleep 0.1
done
for text in one two three; do printf 'packet %s' "$text" > /dev/udp/192.0.2.2/4791; done
for capture in "${captures[@]}"; do wait "$capture" || cant_tell "a capture failed: $(cat ./*.log)"; done

link() { od -An -t u4 -j 20 -N 4 "$1" | tr -d ' '; }
seen="dumpcap -i any: link type $(link dumpcap.pcap); tcpdump -i any: $(link tcpdump.pcap); tcpdump -i eth2: $(link eth2.pcap)"
mergecap -w both.pcapng dumpcap.pcap eth2.pcap || exit 2
for ignored in 0 14 16 20; do
    removed=$(editcap -I $ignored -d both.pcapng left.pcapng 2>&1 | tail -1) || exit 2
    seen+=$'\n'"editcap -I $ignored -d: $removed"
done
dumpcap --version | head -1
tcpdump --version 2>&1 | head -2
echo "$seen"
kept='6 packets seen, 0 packets skipped with duplicate window of 5 packets.'
[ "$seen" = "dumpcap -i any: link type 113; tcpdump -i any: 276; tcpdump -i eth2: 1
editcap -I 0 -d: $kept
editcap -I 14 -d: $kept
editcap -I 16 -d: $kept
editcap -I 20 -d: $kept" ] || changed
