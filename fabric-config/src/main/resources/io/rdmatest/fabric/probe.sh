# shellcheck shell=sh
# Some of its variables are set before it (SC2154), and not every word of a line that it reads matters (SC2034).
# shellcheck disable=SC2154,SC2034
#
# What a node has, as lines for FabricCheck. Reads only. Runs in any POSIX shell, from its standard input, which no command
# here must read: it is this text. Before it, "java" is set to the one that is named or was found; if it is empty, "looked" and
# "seen" say where there was none.
say() { printf 'rdmatest-probe %s\n' "$*"; }

say begin
say host "$(uname -n)"
say kernel "$(uname -sr)"
# POSIX has no "ulimit -l". Every shell of Linux knows it, and one that does not leaves the line empty.
# shellcheck disable=SC3045
say memlock "$({ ulimit -l; } 2>/dev/null)"
say user "$(id -u 2>/dev/null)"

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

for device in /sys/class/infiniband/*; do
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
    { read -r version <"$device/fw_ver"; } 2>/dev/null && [ -n "$version" ] && say firmware "$name" "$version"
    for verbs in /sys/class/infiniband_verbs/uverbs*; do
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
            for interface in /sys/class/net/*; do
                { IFS=: read -r a b c d e f <"$interface/address"; } 2>/dev/null || continue
                case $hardware in "$a$b:$c$d:$e$f:"*) say interface "$name" "$number" "${interface##*/}" ;; esac
            done
        elif [ "$layer" = InfiniBand ]; then
            for interface in "$device"/device/net/*; do
                # It counts from 0, verbs from 1.
                { read -r below <"$interface/dev_port"; } 2>/dev/null || continue
                [ "$((below + 1))" = "$number" ] && say interface "$name" "$number" "${interface##*/}"
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
        done
    done
done

ip -o addr show 2>/dev/null </dev/null | while read -r number interface family address rest; do
    say address "$interface" "${address%%/*}"
done
say end
