# shellcheck shell=bash
# What this host is and has: its name, its programs, libraries and headers, and the command that installs a missing one.
# Everything is looked for by what it provides, because packages have other names on other releases.

# Tests put the folders of another host there.
readonly HOST_ROOT=${RDMA_VM_ROOT-}

# A requirement, and the package that provides it for apt, dnf, zypper and pacman. "-" is a package that is not known.
readonly PACKAGES='
library:librdmacm.so.1      librdmacm1        librdmacm         librdmacm1        rdma-core
library:libibverbs.so.1     libibverbs1       libibverbs        libibverbs1       rdma-core
providers                   ibverbs-providers libibverbs        libibverbs        rdma-core
program:ip                  iproute2          iproute           iproute2          iproute2
program:rdma                iproute2          iproute           iproute2          iproute2
program:tc                  iproute2          iproute-tc        iproute2          iproute2
program:rping               rdmacm-utils      librdmacm-utils   librdmacm-utils   rdma-core
program:ibv_devinfo         ibverbs-utils     libibverbs-utils  libibverbs-utils  rdma-core
program:ib_send_bw          perftest          perftest          perftest          perftest
header:infiniband/verbs.h   libibverbs-dev    rdma-core-devel   rdma-core-devel   rdma-core
header:rdma/rdma_cma.h      librdmacm-dev     rdma-core-devel   rdma-core-devel   rdma-core
header:stdio.h              libc6-dev         glibc-devel       glibc-devel       glibc
program:gcc                 gcc               gcc               gcc               gcc
program:shellcheck          shellcheck        ShellCheck        ShellCheck        shellcheck
program:mvn                 maven             maven             maven             maven
program:qemu-system-x86_64  qemu-system-x86   qemu-system-x86   qemu-x86          qemu-system-x86
program:busybox             busybox-static    busybox           busybox-static    busybox
program:cpio                cpio              cpio              cpio              cpio
program:modprobe            kmod              kmod              kmod              kmod
program:depmod              kmod              kmod              kmod              kmod
program:perl                perl-base         perl              perl-base         perl
program:dpkg-deb            dpkg              dpkg              dpkg              dpkg
program:xz                  xz-utils          xz                xz                xz
program:zstd                zstd              zstd              zstd              zstd
program:gzip                gzip              gzip              gzip              gzip
program:lz4                 lz4               lz4               lz4               lz4
program:debootstrap         debootstrap       debootstrap       debootstrap       debootstrap
program:qemu-aarch64-static qemu-user-static  qemu-user-static  qemu-linux-user   qemu-user-static
program:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu cross-aarch64-gcc14 aarch64-linux-gnu-gcc
program:flock               util-linux        util-linux-core   util-linux        util-linux'

# The name and version of this system, as its users know it.
system_name() {
    local name
    name=$(release_fact PRETTY_NAME)
    printf '%s\n' "${name:-this system}"
}

release_fact() { sed -n "s/^$1=//p" "$HOST_ROOT/etc/os-release" 2>/dev/null | tr -d '"' | head -n 1; }

# Prints the path of a program. Administrators' folders are not on every user's PATH.
where_is() { PATH=$PATH:$HOST_ROOT/usr/sbin:$HOST_ROOT/sbin type -P "$1"; }

# apt, dnf, zypper or pacman; nothing where there is none of them.
package_manager() {
    if where_is apt-get >/dev/null; then
        echo apt
    elif where_is dnf >/dev/null; then
        echo dnf
    elif where_is zypper >/dev/null; then
        echo zypper
    elif where_is pacman >/dev/null; then
        echo pacman
    fi
}

library_path() {
    local path
    path=$(PATH=$PATH:$HOST_ROOT/usr/sbin:$HOST_ROOT/sbin ldconfig -p 2>/dev/null | sed -n "s/^[[:space:]]*$1 .* => //p" | head -n 1)
    [ -n "$path" ] && printf '%s\n' "$path"
}

# Whether this host provides a requirement, a first column of PACKAGES.
provides() {
    local name=${1#*:} verbs
    case $1 in
        program:*) where_is "$name" >/dev/null ;;
        library:*) library_path "$name" >/dev/null ;;
        header:*) [ -e "$HOST_ROOT/usr/include/$name" ] ;;
        # The verbs library finds its providers, also that of soft-RoCE, in a folder beside it.
        providers) verbs=$(library_path libibverbs.so.1) && compgen -G "${verbs%/*}/libibverbs/*-rdmav*.so" >/dev/null ;;
    esac
}

# Prints the packages of those requirements that this host does not provide, each package once, in one line.
missing_packages() {
    local requirement package found=' '
    for requirement; do
        if ! provides "$requirement"; then
            package=$(package_of "$requirement")
            [[ $found == *" $package "* ]] || found+="$package "
        fi
    done
    found=${found# }
    printf '%s\n' "${found% }"
}

# Prints the name that a requirement's package has here.
package_of() {
    local name apt dnf zypper pacman manager provider
    read -r name apt dnf zypper pacman < <(grep "^$1 " <<<"$PACKAGES")
    manager=$(package_manager)
    case $manager in
        dnf) name=$dnf ;;
        zypper) name=$zypper ;;
        pacman) name=$pacman ;;
        *)
            name=$apt
            # A release may have renamed the package: then another one provides it.
            provider=$(apt_provider "$name")
            name=${provider:-$name}
            ;;
    esac
    printf '%s\n' "${name:-${1#*:}}"
}

# Prints the real package that provides a name which no package of this release has.
apt_provider() {
    LC_ALL=C apt-cache showpkg "$1" 2>/dev/null | awk '
        /^[A-Z][A-Za-z ]*: *$/ { part = $0; next }
        part ~ /^Versions:/ && NF { real = 1 }
        part ~ /^Reverse Provides:/ && NF && !provider { provider = $1 }
        END { if (!real && provider) print provider }'
}

# Prints how to install packages here: install_command PACKAGE…
install_command() {
    local manager
    manager=$(package_manager)
    case $manager in
        apt) printf 'apt-get update && apt-get install -y --no-install-recommends %s\n' "$*" ;;
        dnf) printf 'dnf install -y %s\n' "$*" ;;
        zypper) printf 'zypper install -y %s\n' "$*" ;;
        pacman) printf 'pacman -S --noconfirm %s\n' "$*" ;;
        *) printf '%s\n' "install $* with the package manager of this system" ;;
    esac
}

# Prints how to get a JDK here: jdk_advice VERSION
jdk_advice() {
    local manager package=openjdk-$1-jdk-headless
    manager=$(package_manager)
    case $manager in
        apt)
            if apt-cache show "$package" >/dev/null 2>&1 || debian_is_at_least 13; then
                printf 'Run as root: %s\n' "$(install_command "$package")"
            else
                printf '%s\n' "$(system_name) has no package of one: install Temurin's (temurin-$1-jdk), or unpack a JDK as /opt/jdk-$1"
            fi
            ;;
        dnf | zypper) printf 'Run as root: %s\n' "$(install_command "java-$1-openjdk-devel")" ;;
        pacman) printf 'Run as root: %s\n' "$(install_command jdk-openjdk)" ;;
        *) printf '%s\n' "Unpack a JDK as /opt/jdk-$1" ;;
    esac
}

# Whether this is Debian from a release on, also where the package lists are missing.
debian_is_at_least() {
    local id release
    id=$(release_fact ID)
    release=$(release_fact VERSION_ID)
    [ "$id" = debian ] && [[ $release =~ ^[0-9]+$ ]] && [ "$release" -ge "$1" ]
}
