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
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net

plugins=$PWD/root/usr/lib/x86_64-linux-gnu/slurm-wlm
export LD_LIBRARY_PATH=$plugins:${plugins%/*} SLURM_CONF=$PWD/slurm.conf
PATH=$PWD/root/usr/bin:$PATH
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
ip link add c0 type veth peer name c1 || cant_tell "there is no veth"
ip addr add 192.0.2.1/24 dev c0 && ip link set c0 up && ip link set c1 up && ip link set lo up || exit 2

scontrol --version || exit 2
scontrol show nodes > nodes.txt 2> nodes.err
nodes=$?
scontrol show topology > topology.txt 2> topology.err
topology=$?
bytes=$(($(wc -c < topology.txt)))
echo "scontrol show nodes:    status $nodes, $(head -n 1 nodes.err)"
echo "scontrol show topology: status $topology, $bytes bytes, $(head -n 1 topology.err)"
# 126 and 127 are of the shell, and of a library that is not there.
case $nodes in 0 | 12[67]) cant_tell "scontrol show nodes was to fail with the status of scontrol" ;; esac
grep -q slurm_load_topo topology.err || cant_tell "scontrol did not say that the topology could not be loaded"
[ "$topology $bytes" = "0 0" ] || changed
