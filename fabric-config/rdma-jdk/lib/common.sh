# shellcheck shell=bash
# What all three commands in bin/ share: messages, the settings, and two questions about this host:
# is there an active RDMA device, and where is the real JDK?

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

# Whether a VM has to bring the device. The answer is in the status: 0 yes, 1 no.
vm_wanted() {
    # Within a machine the device is here, whatever the environment says about starting one.
    [ -z "${RDMA_NODE-}" ] || return 1
    case ${RDMA_VM:-auto} in
        always) return 0 ;;
        never) return 1 ;;
        auto) [ -z "$(active_devices)" ] ;;
        *) usage_error "RDMA_VM=$RDMA_VM is not known; allowed: auto, always, never" ;;
    esac
}

# A JDK home of version 25 that is not this folder itself: surefire sets JAVA_HOME to the home of its <jvm>, which may
# be us, and then we would call ourselves for ever.
is_real_jdk_25() {
    [ -x "$1/bin/java" ] && [ ! -e "$1/lib/guest/agent.pl" ] \
        && [ ! "$1/bin/java" -ef "$RDMA_JDK/bin/java" ] \
        && grep -qs '^JAVA_VERSION="25[."]' "$1/release"
}

# Prints the home of the JDK whose java is to run.
real_java_home() {
    local home
    if [ -n "${RDMA_JAVA_HOME-}" ]; then
        is_real_jdk_25 "$RDMA_JAVA_HOME" || fail "RDMA_JAVA_HOME=$RDMA_JAVA_HOME is not the home of a JDK 25"
        printf '%s\n' "$RDMA_JAVA_HOME"
        return
    fi
    for home in "${JAVA_HOME-}" /usr/lib/jvm/* /opt/java/* /opt/jdk*; do
        if [ -n "$home" ] && is_real_jdk_25 "$home"; then
            printf '%s\n' "$home"
            return
        fi
    done
    fail "no JDK 25 found: neither RDMA_JAVA_HOME nor JAVA_HOME names one, and none is in /usr/lib/jvm or /opt." \
        "Install one there, or set RDMA_JAVA_HOME to its home"
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
