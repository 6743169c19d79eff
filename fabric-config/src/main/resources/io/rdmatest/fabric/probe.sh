# shellcheck shell=sh
# Some of its variables are set before it (SC2154), and not every word of a line that it reads matters (SC2034).
# shellcheck disable=SC2154,SC2034
#
# What a node has, as lines for FabricCheck. Reads only. Runs in any POSIX shell, from its standard input, which no command
# here must read: it is this text. Before it, "java" is set to the one that is named or was found; if it is empty, "looked" and
# "seen" say where there was none.
say() { printf 'rdmatest-probe %s\n' "$*"; }

# The folder of sysfs is another one in tests.
sys=${RDMATEST_SYSFS:-/sys}

# attribute FILE WORD...: a line of these words and what is in the file. No line if it can't be read or is empty.
attribute() {
    file=$1
    shift
    { read -r content <"$file"; } 2>/dev/null && [ -n "$content" ] && say "$@" "$content"
}

# ask PROGRAM WORD...: sets "answer" to what it prints; nothing if it is not installed. The programs of administrators are not on
# every PATH. One that hangs must not cost the node its answer, and is not asked again. Nor must many interfaces, such as those of
# virtual functions: after 10 s nothing more is asked.
hung=
began=$(date +%s)
ask() {
    answer=
    [ $(($(date +%s) - began)) -lt 10 ] || return
    case " $hung " in *" $1 "*) return ;; esac
    ended=0
    answer=$({
        PATH=$PATH:/usr/sbin:/sbin
        command -v "$1" >/dev/null || exit 0
        command -v timeout >/dev/null && exec timeout 5 "$@"
        exec "$@"
    } 2>/dev/null </dev/null) || ended=$?
    # The status of timeout(1) when the time is up.
    [ "$ended" = 124 ] && hung="$hung $1"
}

# answers WORD...: a line of these words and each line of the answer.
answers() {
    [ -z "$answer" ] || printf '%s\n' "$answer" | while IFS= read -r line; do say "$@" "$line"; done
}

interfaces=
note_interface() {
    case " $interfaces " in
        *" $1 "*) ;;
        *) interfaces="$interfaces $1" ;;
    esac
}

say begin
say host "$(uname -n)"
say kernel "$(uname -sr)"
# POSIX has no "ulimit -l". Every shell of Linux knows it, and one that does not leaves the line empty.
# shellcheck disable=SC3045
say memlock "$({ ulimit -l; } 2>/dev/null)"
say user "$(id -u 2>/dev/null)"

# Two nodes with the same line are one machine, or containers of one that share its network. The folders are others in tests.
dev=${RDMATEST_DEV:-/dev}
proc=${RDMATEST_PROC:-/proc}
boot=
{ read -r boot <"$proc/sys/kernel/random/boot_id"; } 2>/dev/null
network=$(readlink "$proc/self/ns/net" 2>/dev/null </dev/null)
[ -z "$boot" ] || [ -z "$network" ] || say machine "$boot" "$network"

# A container may have the file of a device without that of the connection manager.
if [ -d "$dev/infiniband" ] && [ ! -e "$dev/infiniband/rdma_cm" ]; then
    if [ -e "$sys/class/misc/rdma_cm" ]; then say no-manager container; else say no-manager module; fi
fi

if [ -z "$java" ]; then
    say java-looked "$looked"
    [ -z "$seen" ] || say java-seen "$seen"
elif path=$(command -v "$java" 2>/dev/null) && [ ! -d "$path" ]; then
    say java "$path"
    "$java" -version 2>&1 </dev/null | while IFS= read -r line; do say java-says "$line"; done
elif [ -e "$java" ]; then
    say java-unusable "$java"
fi

for library in librdmacm.so.1 libibverbs.so.1; do
    found=
    for folder in $(printf '%s' "${LD_LIBRARY_PATH-}" | tr ':' ' ') /lib /usr/lib /lib64 /usr/lib64 /usr/local/lib \
        /lib/*-linux-gnu /usr/lib/*-linux-gnu; do
        if [ -e "$folder/$library" ]; then
            found=$folder
            break
        fi
    done
    [ -n "$found" ] || found=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null </dev/null | grep -m 1 "$library")
    [ -n "$found" ] && say library "$library"
    [ "$library" = librdmacm.so.1 ] && say rdma-core "$(readlink -f "$found/$library" 2>/dev/null </dev/null)"
done

# Those of this network namespace; the folder /sys/class/net may show another one. As in "2: eth0@if5: <BROADCAST,MULTICAST,UP>".
ip -o link show 2>/dev/null </dev/null | while read -r number interface rest; do
    interface=${interface%%@*}
    say link "${interface%:}" "${number%:}"
done

for device in "$sys"/class/infiniband/*; do
    [ -d "$device/ports" ] || continue
    name=${device##*/}
    driver=$(readlink "$device/device/driver")
    driver=${driver##*/}
    # The software devices hang on no bus; soft-RoCE alone names the network interface that it runs on.
    [ -z "$driver" ] && [ -e "$device/parent" ] && driver=rdma_rxe
    # As in "4: RNIC", which is iWARP.
    node=
    { read -r node rest <"$device/node_type"; } 2>/dev/null
    node=${node%:}
    [ -z "$driver" ] && [ "$node" = 4 ] && driver=siw
    say device "$name" "${driver:-unknown}" "${node:-0}"
    attribute "$device/fw_ver" firmware "$name"
    attribute "$device/board_id" setting "$name" board
    attribute "$device/device/numa_node" setting "$name" numaNode
    # A virtual function has the link of its physical one.
    link=$device/device
    [ -e "$link/physfn" ] && link=$link/physfn
    attribute "$link/current_link_speed" setting "$name" pcieSpeed
    attribute "$link/current_link_width" setting "$name" pcieWidth
    attribute "$link/max_link_speed" setting "$name" pcieMaxSpeed
    attribute "$link/max_link_width" setting "$name" pcieMaxWidth
    # Only root can read these registers: relaxed ordering in the device's own (PCI Express, Device Control), and ACS in those of
    # the bridges above it (ACS Control).
    slot=$(readlink -f "$device/device" 2>/dev/null </dev/null)
    register=relaxedOrdering
    place=CAP_EXP+8.w
    while :; do
        case ${slot##*/} in
            *:*:*.?) ;;
            *) break ;;
        esac
        [ "$register" = relaxedOrdering ] && say setting "$name" pcieAddress "${slot##*/}"
        ask setpci -s "${slot##*/}" "$place"
        answers register "$name" "$register" "${slot##*/}"
        register=acs
        place=ECAP_ACS+6.w
        slot=${slot%/*}
    done
    for verbs in "$sys"/class/infiniband_verbs/uverbs*; do
        { read -r owner <"$verbs/ibdev"; } 2>/dev/null || continue
        [ "$owner" = "$name" ] || continue
        file=/dev/infiniband/${verbs##*/}
        { [ -r "$file" ] && [ -w "$file" ]; } || say no-access "$name" "$file"
    done
    for port in "$device"/ports/*; do
        number=${port##*/}
        read -r layer <"$port/link_layer"
        read -r state <"$port/state"
        read -r rate <"$port/rate"
        say port "$name" "$number" "$layer" "$state"
        say rate "$name" "$number" "$rate"
        # Where GIDs are no IP addresses, peers reach the port by those of its interface.
        if [ "$node" = 4 ]; then
            hardware=
            { read -r hardware <"$port/gids/0"; } 2>/dev/null
            for interface in "$sys"/class/net/*; do
                { IFS=: read -r a b c d e f <"$interface/address"; } 2>/dev/null || continue
                case $hardware in
                    "$a$b:$c$d:$e$f:"*)
                        say interface "$name" "$number" "${interface##*/}"
                        note_interface "${interface##*/}"
                        ;;
                esac
            done
        elif [ "$layer" = InfiniBand ]; then
            for interface in "$device"/device/net/*; do
                # It counts from 0, verbs from 1.
                { read -r below <"$interface/dev_port"; } 2>/dev/null || continue
                [ "$((below + 1))" = "$number" ] || continue
                say interface "$name" "$number" "${interface##*/}"
                note_interface "${interface##*/}"
            done
        fi
        ibv_devinfo -d "$name" -i "$number" 2>/dev/null </dev/null | while read -r key value rest; do
            [ "$key" = active_mtu: ] && say mtu "$name" "$number" "$value"
        done
        for gid in "$port"/gids/*; do
            # The builtin: a table has up to 1024 entries, and a process for each would take seconds. Unused ones of some
            # drivers can't be read.
            { read -r value <"$gid"; } 2>/dev/null || continue
            [ "$value" = 0000:0000:0000:0000:0000:0000:0000:0000 ] && continue
            type=unknown
            { read -r type <"$port/gid_attrs/types/${gid##*/}"; } 2>/dev/null
            interface=-
            { read -r interface <"$port/gid_attrs/ndevs/${gid##*/}"; } 2>/dev/null
            say gid "$name" "$number" "${gid##*/}" "$value" "${interface:--}" "$type"
            [ "${interface:--}" = - ] || note_interface "$interface"
        done
    done
done

for interface in $interfaces; do
    attribute "$sys/class/net/$interface/mtu" of-interface "$interface" interfaceMtu
    # What a VLAN or a bond sends leaves by the interface of an adapter, and that one has these settings.
    adapter=$interface
    for level in 1 2; do
        for lower in "$sys/class/net/$adapter"/lower_*; do
            [ -e "$lower" ] || continue
            adapter=${lower##*/lower_}
            break
        done
    done
    say of-interface "$interface" adapterInterface "$adapter"
    for role in np rp; do
        enabled=
        for file in "$sys/class/net/$adapter/ecn/roce_$role"/enable/*; do
            { read -r value <"$file"; } 2>/dev/null && enabled=$enabled$value
        done
        [ -n "$enabled" ] && say of-interface "$interface" "ecn-$role" "$enabled"
    done
    ask mlnx_qos -i "$adapter"
    answers mlnx-qos "$interface"
    ask dcb pfc show dev "$adapter" prio-pfc
    answers dcb "$interface"
    ask dcb -N app show dev "$adapter" dscp-prio
    answers dcb "$interface"
done

ip -o addr show 2>/dev/null </dev/null | while read -r number interface family address rest; do
    say address "$interface" "${address%%/*}"
done
say end
