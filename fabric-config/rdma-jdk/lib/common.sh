# shellcheck shell=bash
# What all three commands in bin/ share: messages, the settings, and two questions about this host:
# is there an active RDMA device, and where is the real JDK? No caller of this relies on "set -e", nor does this.

RDMA_JDK=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)

# Exit status for "the machinery failed", kept apart from the statuses of the command that runs in the VM.
readonly MACHINERY_FAILED=125

say() { printf 'rdma-vm: %s\n' "$*" >&2; }

fail() {
    say "$@"
    exit "$MACHINERY_FAILED"
}

usage_error() {
    say "$@"
    exit 2
}

# shellcheck source=host.sh
. "$RDMA_JDK/lib/host.sh"

# Not even a default is possible without a home directory (a system user), so this may be empty.
cache_directory() {
    if [ -n "${RDMA_VM_CACHE-}" ]; then
        printf '%s\n' "$RDMA_VM_CACHE"
    elif [ -n "${XDG_CACHE_HOME-}" ]; then
        printf '%s\n' "$XDG_CACHE_HOME/rdmatest"
    elif [ -n "${HOME-}" ]; then
        printf '%s\n' "$HOME/.cache/rdmatest"
    fi
}

# The names of the RDMA devices of this host that have an active port, one a line.
active_devices() {
    local state device
    for state in "${RDMA_VM_SYSFS:-/sys}"/class/infiniband/*/ports/*/state; do
        if [ -r "$state" ] && [[ $(<"$state") == "4: ACTIVE"* ]]; then
            device=${state%/ports/*}
            printf '%s\n' "${device##*/}"
        fi
    done | uniq
}

# Whether a device is soft-RoCE or siw, told as RdmaDevice.driver() tells it: these are on no bus.
is_software() {
    local device=${RDMA_VM_SYSFS:-/sys}/class/infiniband/$1
    [ ! -e "$device/device/driver" ] || return 1
    [ -e "$device/parent" ] || { [ -r "$device/node_type" ] && [[ $(<"$device/node_type") == "4: "* ]]; }
}

# The signs that this host has RDMA hardware although no port of it is active, a clause each: ports that are not active, PCI functions
# that are an InfiniBand controller (class 0207, of older adapters 0c06) or a fabric controller (0208), and RDMA functions of
# Ethernet adapters, as their drivers announce them on the auxiliary bus (mlx5_core.rdma.0, ice.roce.0, i40e.iwarp.0). A driver
# that is not loaded leaves the latter two. None where a port of hardware is active.
hardware_signs() {
    local sys=${RDMA_VM_SYSFS:-/sys} active found device port none=yes
    active=$(active_devices)
    for device in $active; do
        is_software "$device" || return 0
    done
    for device in "$sys"/class/infiniband/*; do
        [ -e "$device" ] || continue
        # Beside a software device that works, another one that does not says nothing.
        [ -z "$active" ] || ! is_software "${device##*/}" || continue
        none=
        found=
        for port in "$device"/ports/*; do
            [ -r "$port/state" ] || continue
            found=yes
            printf '%s/%s is %s\n' "${device##*/}" "${port##*/}" "$(sed 's/^[0-9]*: *//' "$port/state")"
        done
        [ -n "$found" ] || printf '%s has no port\n' "${device##*/}"
    done
    # A device explains the function that it belongs to.
    [ -n "$none" ] || return 0
    found=
    for device in "$sys"/bus/auxiliary/devices/*; do
        case ${device##*/} in
            *.rdma.* | *.roce.* | *.iwarp.* | mlx4_core.ib.*)
                found=yes
                printf '%s has no RDMA device: its driver is not loaded\n' "${device##*/}"
                ;;
        esac
    done
    [ -z "$found" ] || return 0
    for device in "$sys"/bus/pci/devices/*; do
        [ -r "$device/class" ] || continue
        case $(<"$device/class") in
            0x0207* | 0x0208* | 0x0c06*)
                printf '%s is an RDMA adapter without an RDMA device: load its driver\n' "${device##*/}"
                ;;
        esac
    done
}

# Prints why no machine is started on a host with these signs of RDMA hardware, and how to get one: no_active_port SIGNS HOW
no_active_port() { printf '%s' "no active RDMA port on $(uname -n): ${1//$'\n'/, }; $2"; }

# Whether a VM has to bring the device. The answer is in the status: 0 yes, 1 no. A host with RDMA hardware gets none by itself:
# a run on soft-RoCE would pass there just because the hardware is broken.
vm_wanted() {
    local signs
    # Within a machine the device is here, whatever the environment says about starting one.
    [ -z "${RDMA_NODE-}" ] || return 1
    case ${RDMA_VM:-auto} in
        always) return 0 ;;
        never) return 1 ;;
        auto)
            [ -z "$(active_devices)" ] || return 1
            signs=$(hardware_signs)
            [ -n "$signs" ] || return 0
            say "$(no_active_port "$signs" "RDMA_VM=always starts a virtual machine all the same")"
            # Once for all programs that this one starts.
            export RDMA_VM=never
            return 1
            ;;
        *) usage_error "RDMA_VM=$RDMA_VM is not known; allowed: auto, always, never" ;;
    esac
}

# The oldest JDK that runs this project.
readonly JDK_VERSION=25

# Whether a folder is the home of a JDK that is new enough, and not this folder itself: Surefire sets JAVA_HOME to the home of
# its <jvm>, which may be this one, and then bin/java would call itself for ever.
is_real_jdk() {
    local version
    [ -x "$1/bin/java" ] && [ ! -e "$1/lib/guest/agent.pl" ] && [ ! "$1/bin/java" -ef "$RDMA_JDK/bin/java" ] || return 1
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null)
    [ "${version:-0}" -ge "$JDK_VERSION" ]
}

# Prints the home of the JDK whose java is to run.
real_java_home() {
    local home java
    if [ -n "${RDMA_JAVA_HOME-}" ]; then
        is_real_jdk "$RDMA_JAVA_HOME" || fail "RDMA_JAVA_HOME=$RDMA_JAVA_HOME is not the home of a JDK $JDK_VERSION or later"
        printf '%s\n' "$RDMA_JAVA_HOME"
        return
    fi
    java=$(readlink -f "$(type -P java)")
    for home in "${JAVA_HOME-}" "$HOST_ROOT"/usr/lib/jvm/* "$HOST_ROOT"/opt/java/* "$HOST_ROOT"/opt/jdk* "${java%/bin/java}"; do
        if [ -n "$home" ] && is_real_jdk "$home"; then
            printf '%s\n' "$home"
            return
        fi
    done
    fail "no JDK $JDK_VERSION or later found: neither RDMA_JAVA_HOME nor JAVA_HOME names one," \
        "and none is in /usr/lib/jvm, in /opt or on the PATH. $(jdk_advice "$JDK_VERSION")"
}

# Runs a command in the VM: run_in_vm NODES COMMAND…; does not return.
run_in_vm() {
    local nodes=$1 image
    shift
    # shellcheck source=image.sh
    . "$RDMA_JDK/lib/image.sh"
    image=$(ready_image) || exit "$MACHINERY_FAILED"
    exec perl "$RDMA_JDK/lib/vm.pl" "$image" "$nodes" "$@"
}
