#!/usr/bin/env bash
# lldpd 1.0.16 (Debian 12): `lldpctl -f keyvalue` has the same keys for every neighbour of an interface, without a number.
#
# Expected: keys that are unique, as in other key=value output; or a number in them.
# Seen:     with a switch and a BMC behind one port, lldp.eth2.chassis.name is there twice. Whoever reads the lines into a map, or
#           sources them, keeps the last neighbour only, which may be the BMC. A line …via= begins the next neighbour.
#           -f json has one object for one neighbour, and an array of objects with the same key eth2 for two.
#           Without a neighbour, -f keyvalue prints 0 bytes and ends with 0.
#
# Needs Debian 12 on amd64, root, apt-get, python3 and veth. Everything runs in namespaces of its own, so nothing is left behind.
# Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
packages=(lldpd=1.0.16-1+deb12u1 libsnmp40=5.9.3+dfsg-2+deb12u1 libwrap0=7.6.q-32 libevent-2.1-7=2.1.12-stable-8+deb12u1
    libxml2=2.9.14+dfsg-1.3~deb12u6 libbsd0=0.11.7-2 libcap2=1:2.66-4+deb12u3+b1 libreadline8=8.2-1.3 libicu72=72.1-3+deb12u1 libmd0=1.0.4-2)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net --mount --mount-proc

root=$PWD/root
libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
lldpcli() { LD_LIBRARY_PATH=$libraries "$root/usr/sbin/lldpcli" -u /run/lldpd.socket "$@"; }
# lldpd gives up its privileges as a user of its own in a folder of its own. Both are known in this mount namespace only.
mount -t tmpfs tmpfs /run && mkdir /run/lldpd || exit 2
for file in passwd group; do
    { grep -v ^_lldpd: "/etc/$file"; [ $file = group ] && echo _lldpd:x:65533: || echo _lldpd:x:65533:65533::/run/lldpd:/bin/false; } > /run/$file
    mount --bind /run/$file /etc/$file || exit 2
done
ip link add eth2 type veth peer name swp1 || cant_tell "there is no veth"
ip link set eth2 up && ip link set swp1 up || exit 2
LD_LIBRARY_PATH=$libraries "$root/usr/sbin/lldpd" -d -r -I eth2 -O /dev/null -L "$root/usr/sbin/lldpcli" 2> /run/lldpd.log &
for _ in {1..300}; do lldpcli -f keyvalue show neighbors > /run/none 2>&1 && break; sleep 0.1; done
lldpcli -f keyvalue show neighbors > /run/none 2> /run/error
status=$?
[ $status = 0 ] || { cat /run/lldpd.log /run/error >&2; cant_tell "lldpd does not answer"; }

# Sends a frame of IEEE 802.1AB: chassis, port, time to live, name, capabilities (4 is a bridge, 0x80 a station), end.
neighbour() {
    python3 - "$@" <<'EOF'
import socket, struct, sys
number, name, capability = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3], 0)
tlv = lambda kind, value: struct.pack("!H", kind << 9 | len(value)) + value
mac = bytes.fromhex("00005e0053%02x" % number)
frame = bytes.fromhex("0180c200000e") + mac + b"\x88\xcc" + tlv(1, b"\4" + mac) + tlv(2, b"\5port1") + tlv(3, b"\0\x78")
frame += tlv(5, name) + tlv(7, struct.pack("!HH", 0x84, capability)) + tlv(0, b"")
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("swp1", 0))
port.send(frame.ljust(60, b"\0"))
EOF
}
# Waits until lldpd knows a neighbour.
known() {
    for _ in {1..300}; do
        lldpcli -f keyvalue show neighbors > /run/neighbours && grep -q "name=$1\$" /run/neighbours && return
        sleep 0.1
    done
    cant_tell "lldpd does not know $1"
}
interfaces() { lldpcli -f json show neighbors | python3 -c 'import json, sys; print(type(json.load(sys.stdin)["lldp"]["interface"]).__name__)'; }

neighbour 1 leaf1 4 && known leaf1 && one=$(interfaces) || exit 2
neighbour 2 bmc 0x80 && known bmc && two=$(interfaces) || exit 2

lldpcli -v
names=$(grep '^lldp\.eth2\.chassis\.name=' /run/neighbours | sort)
echo "-f keyvalue without a neighbour: status $status, $(($(wc -c < /run/none))) bytes"
echo "-f keyvalue with two neighbours:"
grep -E '\.(via|chassis\.mac|chassis\.name)=' /run/neighbours
echo "-f json: lldp.interface is a $one for one neighbour, a $two for two"
[ "$names" = $'lldp.eth2.chassis.name=bmc\nlldp.eth2.chassis.name=leaf1' ] || changed
[ ! -s /run/none ] || changed
[ "$one $two" = "dict list" ] || changed
