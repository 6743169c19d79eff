# shellcheck shell=sh
# Its variables are set before it (SC2154), traps and names call its functions (SC2317), and what it reads is a sign (SC2034).
# shellcheck disable=SC2154,SC2317,SC2034
#
# Breaks something on a node on purpose and makes it good again, for Faults. Runs in any POSIX shell, from its standard input.
#
# Set before it: kind (network, link, address or removal), device (auto: any), port (0: any), with (the parameters of
# tc-netem(8), or the address) and most, the seconds after which all is made good even if nobody asks for it.
#
# It says "ready", waits for a line, breaks it, says "applied", and waits for the end of standard input: so the fault ends
# with whoever asked for it, also when that one is killed. Then it says "removed".
say() { printf 'rdmatest-fault %s\n' "$*"; }
fail() {
    say "failed $*"
    exit 1
}

# Runs a command, and remembers what it said if it fails.
try() {
    said=$("$@" 2>&1 </dev/null) && return
    said="'$*' ended with status $? and said: $(printf '%s' "$said" | tr '\n' ' ')$cure"
    return 1
}

# Runs a command, or fails with what it said.
must() { try "$@" || fail "$said"; }

# What could not be made good is told at the end: whatever else can be is to be good by then.
trouble() { troubles="$troubles${troubles:+; }$*"; }

# Runs a command that makes something good.
mending() { try "$@" || trouble "$said"; }

# Seconds since the machine started.
read_clock() {
    read -r now rest </proc/uptime
    now=${now%.*}
}

# The port, its folder in sysfs, and the network interface below it. Which of several a test uses is not known here, and a
# fault beside it would show that the test bears what it never met.
find_port() {
    seen=
    fitting=
    several=
    for each in /sys/class/infiniband/*/ports/*; do
        [ -e "$each/state" ] || continue
        name=${each#/sys/class/infiniband/}
        number=${name##*/}
        name=${name%%/*}
        read -r state <"$each/state"
        seen="$seen${seen:+, }$name/$number ($state)"
        [ "$device" = auto ] || [ "$device" = "$name" ] || continue
        [ "$port" = 0 ] || [ "$port" = "$number" ] || continue
        case $state in *ACTIVE*) ;; *) continue ;; esac
        several=${fitting:+yes}
        fitting="$fitting${fitting:+, }$name/$number"
        ports=$each
        found=$name
    done
    [ -n "$fitting" ] || fail "no active port of device $device; seen: ${seen:-none}"
    [ -z "$several" ] || fail "the node's device, $device, may be each of $fitting; name device and port in the fabric's file, or the rail of the node"
    device=$found
    netdev=
    soft=
    # Soft-RoCE alone names the interface that it runs on.
    if [ -e "/sys/class/infiniband/$device/parent" ]; then
        read -r netdev <"/sys/class/infiniband/$device/parent"
        soft=yes
    else
        for each in "$ports"/gid_attrs/ndevs/*; do
            { read -r netdev <"$each"; } 2>/dev/null && [ -n "$netdev" ] && break
        done
    fi
    if [ -z "$netdev" ] || [ ! -e "/sys/class/net/$netdev/flags" ]; then
        fail "$device has no network interface"
    fi
}

# By one program: a table has up to 1024 entries, and unused ones of some drivers can't be read.
count_gids() { cat "$ports"/gids/* 2>/dev/null </dev/null | grep -cv '^[0:]*$'; }

# Waits until the port is what it was before.
await_port() {
    until { read -r state <"$ports/state"; } 2>/dev/null && case $state in *ACTIVE*) true ;; *) false ;; esac \
        && [ "$(count_gids)" -ge "$gids" ]; do
        read_clock
        if [ "$now" -ge "$deadline" ]; then
            trouble "$device is not what it was: state ${state:-unknown}, $(count_gids) of $gids GIDs"
            return
        fi
        sleep 0.1
    done
}

need() {
    command -v "$1" >/dev/null || fail "there is no program '$1': install iproute2"
    [ "$(id -u)" = 0 ] || fail "user $(id -un) may not change the network: its launch command has to lead to root"
}

# --- a network that loses, delays, doubles, reorders or damages packets -------------------------------------------------

# Only RoCE goes through netem: the way to the node, ssh for example, may use the same interface.
break_network() {
    must tc qdisc add dev "$netdev" root handle 4791: prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
    broken=network
    # shellcheck disable=SC2086 # words
    must tc qdisc add dev "$netdev" parent 4791:4 handle 4792: netem limit 100000 $with
    must tc filter add dev "$netdev" parent 4791: protocol ip prio 1 u32 \
        match ip protocol 17 0xff match ip dport 4791 0xffff flowid 4791:4
    must tc filter add dev "$netdev" parent 4791: protocol ipv6 prio 2 u32 \
        match ip6 protocol 17 0xff match ip6 dport 4791 0xffff flowid 4791:4
    must tc filter add dev "$netdev" parent 4791: protocol 0x8915 prio 3 u32 match u32 0 0 flowid 4791:4
    applied=$(tc qdisc show dev "$netdev" | grep 'qdisc netem 4792:') || fail "netem is not on $netdev after it was added"
    say "applied $netdev: $applied"
}

mend_network() {
    tc -s qdisc show dev "$netdev" | while read -r line; do say "statistics $line"; done
    mending tc qdisc del dev "$netdev" root
    case $(tc qdisc show dev "$netdev") in *' 4791:'*) trouble "netem is still on $netdev after it was removed" ;; esac
}

# --- addresses and routes of the interface ------------------------------------------------------------------------------

# What is said of addresses, one a line, in words that ip(8) takes back; only of those without an end of their own.
list_addresses() {
    ip -o "$family" addr show dev "$netdev" permanent "$@" | sed -n -e 's/\\.*//' -e 's/ *$//' \
        -e 's/ secondary\| tentative\| dadfailed\| deprecated//g' -e 's/^.* inet \(.*\) \([^ ]*\)$/\1 label \2/p' \
        -e 's/^.* inet6 \(.*\)$/\1/p'
}

# The same of routes, but without those that the kernel keeps for each address, in its table local. What it adds for the network
# of an address it does not for one with noprefixroute: then that is somebody's to whom nobody tells that it is gone.
list_routes() {
    ip -o "$family" route show table all dev "$netdev" | grep -v ' table local \| expires ' \
        | sed -e 's/ dead\| linkdown//g' -e 's/ *$//'
}

# Tells whether a line is one of several; without a process, which takes its time on an emulated machine.
is_among() {
    case $newline$2$newline in
        *"$newline$1$newline"*) ;;
        *) return 1 ;;
    esac
}

# Gives back those of the addresses that are missing; the other words are said of each.
restore_addresses() {
    addresses=$1
    shift
    there=$(list_addresses)
    IFS=$newline
    for address in $addresses; do
        unset IFS
        # shellcheck disable=SC2086 # words
        is_among "$address" "$there" || mending ip "$family" addr add $address dev "$netdev" "$@"
    done
    unset IFS
}

# Gives back a route, beside what others may have put there meanwhile; one of IPv6 may have lost only its source address.
restore_route() {
    try ip "$family" route append "$@" dev "$netdev" || try ip "$family" route replace "$@" dev "$netdev"
}

# Gives back those of the routes that are missing. A gateway is reached by a route that may come later in the list, and an
# address of IPv6 can't be a source at once: what fails is tried again.
restore_routes() {
    missing=$1
    read_clock
    patience=$((now + 5))
    while [ -n "$missing" ]; do
        there=$(list_routes)
        left=
        unable=
        IFS=$newline
        for route in $missing; do
            unset IFS
            # shellcheck disable=SC2086 # words
            is_among "$route" "$there" || restore_route $route || {
                left=$left${left:+$newline}$route
                unable="$unable${unable:+; }$said"
            }
        done
        unset IFS
        if [ "$left" = "$missing" ]; then
            read_clock
            if [ "$now" -ge "$patience" ]; then
                trouble "$unable"
                return
            fi
            sleep 0.1
        fi
        missing=$left
    done
}

# --- a link that goes down ----------------------------------------------------------------------------------------------

break_link() {
    # The kernel forgets these when the interface goes down.
    family=-4
    routes=$(list_routes)
    family=-6
    routes6=$(list_routes)
    addresses6=$(list_addresses scope global)
    broken='link'
    must ip link set dev "$netdev" down
    read -r flags <"/sys/class/net/$netdev/flags"
    [ $((flags & 1)) = 0 ] || fail "$netdev is still up after it was taken down"
    say "applied $netdev is down"
}

mend_link() {
    mending ip link set dev "$netdev" up
    family=-6
    restore_addresses "$addresses6" nodad
    restore_routes "$routes6"
    family=-4
    restore_routes "$routes"
    await_port
}

# --- an address that goes away ------------------------------------------------------------------------------------------

break_address() {
    addresses=$(list_addresses)
    routes=$(list_routes)
    broken=address
    # shellcheck disable=SC2086 # words
    must ip "$family" addr del ${removed%% scope *} dev "$netdev"
    case $(list_addresses to "$with") in ?*) fail "$with is still on $netdev after it was removed" ;; esac
    say "applied $with is not on $netdev"
}

# All of them: a primary address takes the secondary ones of its network with it.
mend_address() {
    restore_addresses "$addresses"
    restore_routes "$routes"
    await_port
}

# --- a device that is removed -------------------------------------------------------------------------------------------

# Returns when no program has it open any more: the kernel waits for them.
break_removal() {
    broken=removal
    must rdma link delete "$device"
    [ ! -e "/sys/class/infiniband/$device" ] || fail "$device is still there after it was removed"
    say "applied $device on $netdev is removed"
}

mend_removal() {
    # It was not removed.
    [ -e "/sys/class/infiniband/$device" ] || mending rdma link add "$device" type rxe netdev "$netdev"
    await_port
}

# Whoever reads may be gone; what is broken is mended nevertheless. A link may take half a minute to come up; whoever asked
# waits a minute for all of this.
mend() {
    trap '' HUP INT TERM
    trap - EXIT
    cure=
    troubles=
    read_clock
    deadline=$((now + 45))
    case $broken in
        network) mend_network ;;
        link) mend_link ;;
        address) mend_address ;;
        removal) mend_removal ;;
    esac
    [ -z "$troubles" ] || fail "$troubles"
    [ -z "$broken" ] || say removed
}

# In braces: the shell has read all of this before the first command reads standard input.
{
    broken=
    cure=
    newline='
'
    trap '' PIPE
    # One of them may be followed by others.
    trap 'trap "" HUP INT TERM; exit 143' HUP INT TERM
    trap mend EXIT
    find_port
    case $kind in
        network)
            need tc
            [ -n "$soft" ] || fail "the packets of $device do not go through the kernel's queues, only those of soft-RoCE do: let the network itself lose them"
            case $(tc qdisc show dev "$netdev") in
                *' 4791: root '*) fail "another fault is on $netdev; if nobody has one on purpose: tc qdisc del dev $netdev root" ;;
                *' 0: root '*) ;;
                *) fail "$netdev has a queueing discipline of its own: $(tc qdisc show dev "$netdev" | head -n 1)" ;;
            esac
            cure="; it needs the kernel modules sch_prio, sch_netem and cls_u32"
            ;;
        link)
            need ip
            gids=$(count_gids)
            ;;
        address)
            need ip
            case $with in *:*) family=-6 ;; *) family=-4 ;; esac
            removed=$(list_addresses to "$with")
            [ -n "$removed" ] || fail "$with is no address of $netdev that stays; it has: $(list_addresses | sed 's/ .*//' | tr '\n' ' ')"
            gids=$(count_gids)
            ;;
        removal)
            need rdma
            gids=$(count_gids)
            [ -n "$soft" ] || fail "$device is no soft-RoCE device, and can't be made again"
            ;;
    esac
    say "ready $netdev"
    read -r go || exit 1
    "break_$kind"
    timeout "$most" cat >/dev/null
    trap '' HUP INT TERM
    exit 0
}
