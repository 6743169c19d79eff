#!/usr/bin/env bash
# Slurm 22.05.8 (Debian 12): `scontrol show topology` ends with 0 and prints nothing while no controller answers.
#
# Expected: a status other than 0, as `scontrol show nodes` has with the same configuration.
# Seen:     status 0 and 0 bytes; the error is on standard error only. So `scontrol show topology > topology.txt || …` leaves an
#           empty file and notices nothing. A reader has to take an empty file for a failure.
#
# Needs Debian 12 on amd64, root, apt-get and veth. scontrol runs in a network namespace of its own, where nothing listens, so nothing
# is left behind. Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
packages=(slurm-client=22.05.8-4+deb12u3 slurm-wlm-basic-plugins=22.05.8-4+deb12u3)

[ "$(id -u)" = 0 ] || { echo "can't tell: this needs root" >&2; exit 2; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
apt-get -o APT::Sandbox::User=root download -qq "${packages[@]}" || { echo "can't tell: the packages are not there" >&2; exit 2; }
for package in *.deb; do dpkg -x "$package" root || exit 2; done
plugins=$folder/root/usr/lib/x86_64-linux-gnu/slurm-wlm
export LD_LIBRARY_PATH=$plugins:${plugins%/*} SLURM_CONF=$folder/slurm.conf
cat > slurm.conf <<EOF
ClusterName=lab
SlurmctldHost=controller(192.0.2.1)
AuthType=auth/none
SlurmUser=root
PluginDir=$plugins
NodeName=n1
PartitionName=main Nodes=n1
EOF
# Slurm resolves an address only on a host that has one besides 127.0.0.1.
scontrol() {
    timeout 120 unshare --net sh -c 'ip link add c0 type veth peer name c1 && ip addr add 192.0.2.1/24 dev c0 &&
        ip link set c0 up && ip link set c1 up && ip link set lo up && exec "$@"' sh "$folder/root/usr/bin/scontrol" "$@"
}

scontrol --version || exit 2
scontrol show nodes > nodes.txt 2> nodes.err
nodes=$?
scontrol show topology > topology.txt 2> topology.err
topology=$?
bytes=$(($(wc -c < topology.txt)))
echo "scontrol show nodes:    status $nodes, $(head -n 1 nodes.err)"
echo "scontrol show topology: status $topology, $bytes bytes, $(head -n 1 topology.err)"
# 124 is the status of timeout(1), 127 that of a library that is not there.
case $nodes in 0 | 12[4-7]) echo "can't tell: scontrol show nodes was to fail with the status of scontrol" >&2; exit 2 ;; esac
grep -q slurm_load_topo topology.err || { echo "can't tell: scontrol did not say that the topology could not be loaded" >&2; exit 2; }
if [ "$topology" != 0 ] || [ "$bytes" != 0 ]; then
    echo "changed" >&2
    exit 1
fi
