#!/bin/bash
# A folder with parts of Debian 13 for 64-bit Arm, for the full build's tests: a JDK, the libraries under test, their headers and
# those of the C library. qemu-aarch64-static runs its programs on another processor, and aarch64-linux-gnu-gcc compiles for it.
#
#   arm64.sh root   prints the folder; ends with 1 where it can't be used, and says why and what to do
#   arm64.sh make   makes it, unless it is there
#
# It is kept in the cache as arm64/KEY, made under another name and renamed when it is complete. KEY stands for this recipe.
set -u
# shellcheck source=common.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/common.sh"

readonly RELEASE=trixie
readonly WANTED=(openjdk-25-jre-headless ibverbs-providers libibverbs-dev librdmacm-dev libc6-dev)
readonly ARM_JAVA=usr/lib/jvm/java-25-openjdk-arm64/bin/java
readonly ARM_PROGRAMS=(program:qemu-aarch64-static program:aarch64-linux-gnu-gcc)
readonly ARM_MEGABYTES=700
readonly KEYS=$HOST_ROOT/usr/share/keyrings/debian-archive-keyring.gpg

# Fetching took 9 s at 40 MB/s; a network that is slower by a factor of 30 is given up.
readonly LISTS_SECONDS=60
readonly PACKAGES_SECONDS=240

root_folder() { printf '%s/arm64/%s\n' "$1" "$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-12)"; }

# give_up REASON…
give_up() {
    say "$@"
    exit 1
}

# apt_of_arm64 SECONDS FOLDER ARGUMENT…: apt for the other architecture, for so long at most. This host's packages are neither read
# nor changed. Its proxy and other options of apt are kept.
apt_of_arm64() {
    local seconds=$1 work=$2
    shift 2
    LC_ALL=C timeout "$seconds" apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
        -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
        -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20 "$@" 2>&1
}

# The mirror that this host's apt uses, if it is one of Debian; else nothing.
debian_mirror() {
    local site=''
    if [ "$(release_fact ID)" = debian ]; then
        # shellcheck disable=SC2016 # apt's names
        site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)
    fi
    printf '%s\n' "$site"
}

# What is left of a folder that was not completed goes.
work=
clean_up() { [ -z "$work" ] || rm -rf "$work"; }

make_root() {
    local cache=$1 root=$2 lock log free package link target mirror
    mkdir -p "$cache/arm64" 2>/dev/null
    if ! { exec {lock}>"$cache/arm64/lock"; } 2>/dev/null; then
        give_up "cannot write in the cache $cache; set RDMA_VM_CACHE to a folder that is writable"
    fi
    flock "$lock"
    # Several builds may start at once. Who waited finds it made.
    [ ! -x "$root/$ARM_JAVA" ] || return 0
    work=$cache/arm64/.making
    trap clean_up EXIT
    trap 'exit 130' INT TERM HUP
    rm -rf "$work"
    free=$(df -Pm "$cache" | sed -n '2s/^[^ ]* *[0-9]* *[0-9]* *\([0-9]*\).*/\1/p')
    [ "${free:-$ARM_MEGABYTES}" -ge "$ARM_MEGABYTES" ] \
        || give_up "the cache $cache has $free MB left, and Debian for arm64 takes $ARM_MEGABYTES while it is made"
    if ! { mkdir -p "$work"/{lists,cache/archives,root/usr/lib} && ln -s usr/lib "$work/root/lib" && : >"$work/status"; } 2>/dev/null; then
        give_up "cannot write in the cache $cache"
    fi
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || give_up "apt of this host names no mirror of Debian: run 'apt-get update' on a Debian host"
    printf 'deb [signed-by=%s] %s %s main\n' "$KEYS" "$mirror" "$RELEASE" >"$work/sources.list"
    say "fetching Debian's JDK and libraries for arm64"
    log=$(apt_of_arm64 "$LISTS_SECONDS" "$work" update) \
        || give_up "cannot fetch Debian's package lists for arm64; check the network ($(tail -n 1 <<<"$log"))"
    log=$(apt_of_arm64 "$PACKAGES_SECONDS" "$work" -y --no-install-recommends --download-only install "${WANTED[@]}") \
        || give_up "cannot fetch Debian's packages for arm64; check the network ($(tail -n 1 <<<"$log"))"
    for package in "$work"/cache/archives/*.deb; do
        log=$(dpkg-deb -x "$package" "$work/root" 2>&1) || give_up "cannot unpack ${package##*/}: $(tail -n 1 <<<"$log")"
    done
    # The JDK's settings are links to /etc, which the emulator would look for on this host.
    while read -r link target; do
        [ ! -e "$work/root$target" ] || ln -sfnr "$work/root$target" "$link" || give_up "cannot write in the cache $cache"
    done < <(find "$work/root/usr/lib/jvm" -type l -lname '/*' -printf '%p %l\n')
    [ -x "$work/root/$ARM_JAVA" ] || give_up "Debian's packages for arm64 have no $ARM_JAVA"
    # A package gives the folder a date of its own.
    touch "$work/root"
    mv "$work/root" "$root" || give_up "cannot write in the cache $cache"
    # Those of other versions of this recipe, unless somebody used them lately.
    find "$cache/arm64" -mindepth 1 -maxdepth 1 -type d -mtime +14 -exec rm -rf {} +
}

missing=$(missing_packages "${ARM_PROGRAMS[@]}")
cache=$(cache_directory)
root=$(root_folder "$cache")
case ${1-} in
    root)
        [ -z "$missing" ] || give_up "$(system_name) lacks $missing; run as root: $(install_command "$missing")"
        [ -x "$root/$ARM_JAVA" ] || give_up "Debian for arm64 is not in the cache ${cache:-(set RDMA_VM_CACHE)};" \
            "run: fabric-config/rdma-jdk/bin/setup --arm64"
        touch "$root"
        printf '%s\n' "$root"
        ;;
    make)
        [ -z "$missing" ] || give_up "$(system_name) lacks $missing; run as root: $(install_command "$missing")"
        [ -n "$cache" ] || give_up "no place for the cache: set RDMA_VM_CACHE (HOME is not set)"
        [ "$(package_manager)" = apt ] || give_up "$(system_name) has no apt, which fetches Debian's packages for arm64"
        [ -r "$KEYS" ] || give_up "$KEYS is missing; run as root: $(install_command debian-archive-keyring)"
        make_root "$cache" "$root"
        ;;
    *) usage_error "usage: arm64.sh root|make" ;;
esac
