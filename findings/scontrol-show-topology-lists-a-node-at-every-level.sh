#!/usr/bin/env bash
# Slurm 22.05.8 (Debian 12): `scontrol show topology` also lists a node at each switch above its own.
#
# Expected: the output repeats topology.conf, where a switch above others has the key Switches and no Nodes.
# Seen:     the spine has Nodes with all nodes below it. So a node is on as many lines as the tree has levels, and a reader that takes
#           the last line with a node takes the spine. A list that topology.conf has in quotes, with a space after a comma, is printed
#           with the space but without the quotes: whoever splits at spaces loses the rest of the list.
#
# Needs Debian 12 on amd64, root, apt-get and veth. slurmctld runs in namespaces of its own, so nothing is left behind.
# Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
packages=(slurmctld=22.05.8-4+deb12u3 slurm-client=22.05.8-4+deb12u3 slurm-wlm-basic-plugins=22.05.8-4+deb12u3)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net --uts --mount-proc

folder=$PWD
plugins=$folder/root/usr/lib/x86_64-linux-gnu/slurm-wlm
export LD_LIBRARY_PATH=$plugins SLURM_CONF=$folder/slurm.conf
# Slurm resolves an address only on a host that has one besides 127.0.0.1.
hostname controller || exit 2
ip link add c0 type veth peer name c1 || cant_tell "there is no veth"
ip addr add 192.0.2.1/24 dev c0 && ip link set c0 up && ip link set c1 up && ip link set lo up || exit 2
mkdir state
cat > slurm.conf <<EOF
ClusterName=lab
SlurmctldHost=controller(192.0.2.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
PluginDir=$plugins
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
TopologyPlugin=topology/tree
MpiDefault=none
NodeName=n[1-6] State=CLOUD
PartitionName=main Nodes=ALL Default=YES
EOF
cat > topology.conf <<EOF
SwitchName=leaf1 Nodes="n[1-2], n5"
SwitchName=leaf2 Nodes=n[3-4,6]
SwitchName=spine Switches=leaf[1-2]
EOF
root/usr/sbin/slurmctld-wlm -D -c > slurmctld.log 2>&1 &
for _ in {1..300}; do
    root/usr/bin/scontrol show topology > topology.txt 2> scontrol.err && [ -s topology.txt ] && break
    sleep 0.1
done
[ -s topology.txt ] || { tail -n 5 slurmctld.log scontrol.err >&2; cant_tell "slurmctld does not answer"; }

root/usr/bin/scontrol --version
cat topology.txt
lists=$(sed -E 's/^SwitchName=(\S+) .*Nodes=(.*)$/\1: \2/' topology.txt)
[ "$lists" = "leaf1: n[1-2], n5
leaf2: n[3-4,6]
spine: n[1-6] Switches=leaf[1-2]" ] || changed
