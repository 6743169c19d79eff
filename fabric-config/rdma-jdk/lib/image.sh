# shellcheck shell=bash
# The machine's image: the distribution's newest kernel and an initramfs, kept in the cache.
#
#   CACHE/packages/PACKAGE.deb, .sha256   the kernel package as the distribution signs for it
#   CACHE/images/KEY/                     vmlinux, initramfs, manifest (checksums); KEY names package and recipe
#   CACHE/templates/KEY/                  snapshots, see vm.pl
#   CACHE/current-RECIPE                  the image in use and what it was decided from; one for each version of this project
#
# Everything is made under a temporary name and renamed when complete and checked, by one process at a time (CACHE/lock).
# So what has its final name is whole, unless something damaged it later; the manifest tells.

# Modules by what they are for: the virtual devices, the root file system, the RDMA stack, and what tests of faults use.
# crc32: rxe asks the kernel's crypto layer for it by name, and "rdma link add" fails without.
readonly KERNEL_MODULES="virtio_pci virtio_net virtio_console virtio_rng
    9p 9pnet_virtio overlay
    crc32_generic crc32_pclmul ib_uverbs ib_umad rdma_cm rdma_ucm rdma_rxe
    dummy veth sch_netem sch_prio cls_u32"

readonly NEEDED_MEGABYTES=400

# --- asking -------------------------------------------------------------------------------------------------------

# Prints the folder of a complete image; makes it if there is none.
ready_image() {
    local cache image
    cache=$(cache_directory)
    if [ -n "$cache" ] && read -r image _ 2>/dev/null <"$cache/current-$(recipe)" && looks_whole "$cache/images/$image"; then
        printf '%s\n' "$cache/images/$image"
        return
    fi
    prepare_image
}

# A cheap look (sizes and times of change), for every start.
looks_whole() {
    [ -f "$1/stat" ] && [ "$(cd "$1" && stat -c '%n %s %Y' vmlinux initramfs manifest 2>/dev/null)" = "$(<"$1/stat")" ]
}

# The full look (checksums), for setup.
is_whole() {
    looks_whole "$1" && (cd "$1" && sha256sum --quiet --status -c manifest 2>/dev/null)
}

# What the initramfs is made from besides the kernel: our own files and the host's programs in it.
recipe() {
    {
        cat "$RDMA_JDK/lib/guest/init" "$RDMA_JDK/lib/image.sh" "$RDMA_JDK/lib/vmlinux.pl"
        stat -Lc '%s %Y' /bin/busybox "$(command -v rdma)" 2>/dev/null
    } | sha256sum | cut -c1-12
}

# --- preparing ----------------------------------------------------------------------------------------------------

# Brings the cache up to date and prints the image's folder. Called for the first run, and by setup every time.
prepare_image() {
    local cache lock
    cache=$(cache_directory)
    [ -n "$cache" ] || fail "no place for the cache: set RDMA_VM_CACHE (HOME is not set)"
    mkdir -p "$cache/packages" "$cache/images" "$cache/templates" 2>/dev/null
    if ! { exec {lock}>"$cache/lock"; } 2>/dev/null; then
        fail "cannot write in the cache $cache ($(why_not_writable "$cache")). Make it writable, or set RDMA_VM_CACHE to a folder that is"
    fi
    flock "$lock"
    (prepare_image_locked "$cache" {lock}>&-)
    local status=$?
    exec {lock}>&-
    return "$status"
}

why_not_writable() {
    local message
    message=$(LC_ALL=C mkdir -p "$1" 2>&1 && LC_ALL=C touch "$1/lock" 2>&1)
    printf '%s\n' "${message##*: }"
}

prepare_image_locked() {
    # No half of anything stays behind an error or a signal.
    scratch=("$cache/images/.making" "$cache/packages/.fetching")
    trap 'rm -rf "${scratch[@]}"' EXIT
    trap 'exit 130' INT TERM HUP
    local cache=$1 package image work wanted
    for program in busybox cpio depmod modprobe xz dpkg-deb rdma; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null \
            || fail "the program '$program' is missing on this host; run: $RDMA_JDK/bin/setup"
    done
    wanted=$(lists_state)
    if read -r image known 2>/dev/null <"$cache/current-$(recipe)" && [ "$known" = "$wanted" ] && is_whole "$cache/images/$image"; then
        printf '%s\n' "$cache/images/$image"
        return
    fi

    package=$(kernel_package "$cache") || exit "$MACHINERY_FAILED"
    image=$(basename "$package" .deb)-$(recipe)
    if ! is_whole "$cache/images/$image"; then
        [ ! -e "$cache/images/$image" ] || say "the image in the cache is damaged; making it anew"
        work=$cache/images/.making
        rm -rf "$work" "$cache/images/$image"
        require_space "$cache"
        say "preparing the virtual machine's image from $(basename "$package" .deb)"
        make_image "$package" "$work" || fail "cannot make the image in $cache: $(disk_state "$cache")"
        mv "$work" "$cache/images/$image" || fail "cannot write in the cache $cache: $(disk_state "$cache")"
    fi
    printf '%s %s\n' "$image" "$wanted" >"$cache/current.new" || fail "cannot write in the cache $cache: $(disk_state "$cache")"
    mv "$cache/current.new" "$cache/current-$(recipe)"
    prune "$cache" "$image" "$package"
    printf '%s\n' "$cache/images/$image"
}

# Changes when the distribution's lists, and so perhaps the newest kernel, change.
lists_state() {
    printf '%s' "${RDMA_VM_KERNEL_PACKAGE:-apt-$(stat -c %Y /var/lib/apt/lists 2>/dev/null)}" | tr -c 'A-Za-z0-9' _
}

free_megabytes() { df -Pm "$1" 2>/dev/null | sed -n '2s/^[^ ]* *[0-9]* *[0-9]* *\([0-9]*\).*/\1/p'; }

disk_state() { printf '%s MB are free there; set RDMA_VM_CACHE to a folder on another disk if that is too little\n' "$(free_megabytes "$1")"; }

require_space() {
    local free
    free=$(free_megabytes "$1")
    [ "${free:-$NEEDED_MEGABYTES}" -ge "$NEEDED_MEGABYTES" ] \
        || fail "the disk of the cache $1 is full: $NEEDED_MEGABYTES MB are needed, $free MB are free. Free some, or set RDMA_VM_CACHE to a folder on another disk"
}

# What was not used for two weeks goes, except what a running VM may still read. Not earlier: another checkout of this
# project may use the same cache.
prune() {
    local cache=$1 image=$2 package=$3 old
    touch "$cache/images/$image" "$package"
    find "$cache/images" "$cache/packages" "$cache/templates" -mindepth 1 -maxdepth 1 -mtime +14 | while read -r old; do
        if [ ! -d "$old" ] || unused "$old"; then rm -rf "$old"; fi
    done
    find "$cache" -maxdepth 1 -type f \( -name 'current-*' -o -name 'kvm-*' \) -mtime +14 -delete
}

# A VM keeps a shared lock on its image's manifest.
unused() { [ ! -e "$1/manifest" ] || flock -n "$1/manifest" true 2>/dev/null; }

# --- the kernel package -------------------------------------------------------------------------------------------

# Prints the path of the verified newest kernel package in the cache; fetches it if need be.
kernel_package() {
    local cache=$1 name version sum file have
    if [ -n "${RDMA_VM_KERNEL_PACKAGE-}" ]; then
        file=$cache/packages/$(basename "$RDMA_VM_KERNEL_PACKAGE")
        verified "$file" || take_local_package "$RDMA_VM_KERNEL_PACKAGE" "$file" || exit "$MACHINERY_FAILED"
        printf '%s\n' "$file"
        return
    fi
    if ! name=$(newest_kernel); then
        # Without the distribution's lists (no network, never updated) an image that was made once is good enough.
        for have in "$cache"/packages/*.deb; do
            if verified "$have"; then
                printf '%s\n' "$have"
                return
            fi
        done
        fail "the distribution offers no kernel package (linux-image-amd64): its lists are missing or old. Run: apt-get update"
    fi
    read -r version sum < <(apt-cache show --no-all-versions "$name" | package_facts)
    file=$cache/packages/${name}_${version//:/%3a}_amd64.deb
    if ! verified "$file" "$sum"; then
        [ ! -e "$file" ] || say "the kernel package in the cache is damaged; fetching it again"
        fetch_package "$cache" "$name=$version" "$sum" "$file" || exit "$MACHINERY_FAILED"
    fi
    printf '%s\n' "$file"
}

package_facts() { sed -n 's/^Version: //p; s/^SHA256: //p' | tr '\n' ' '; }

# The generic image's meta package depends on the newest one (the cloud one has no rxe).
newest_kernel() {
    command -v apt-cache >/dev/null || fail "no apt-cache: kernels are fetched from Debian's archive only; set RDMA_VM_KERNEL_PACKAGE to a linux-image .deb"
    LC_ALL=C apt-cache depends --important linux-image-amd64 2>/dev/null \
        | sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | sort -V | tail -n 1 | grep .
}

# verified FILE [SHA256]: the checksum noted when the package was fetched, or the one that apt knows.
verified() {
    local sum=${2-}
    [ -n "$sum" ] || sum=$(cat "$1.sha256" 2>/dev/null)
    [ -n "$sum" ] && printf '%s  %s\n' "$sum" "$1" | sha256sum --quiet --status -c 2>/dev/null
}

take_local_package() {
    dpkg-deb -f "$1" Package >/dev/null 2>&1 || fail "RDMA_VM_KERNEL_PACKAGE=$1 is not a Debian package"
    require_space "$(dirname "$2")"
    cp "$1" "$2.part" && mv "$2.part" "$2" && sha256sum "$2" | cut -d' ' -f1 >"$2.sha256"
}

fetch_package() {
    local cache=$1 what=$2 sum=$3 file=$4 work log
    require_space "$cache"
    work=$cache/packages/.fetching
    rm -rf "$work"
    mkdir "$work" || fail "cannot write in the cache $cache: $(disk_state "$cache")"
    say "fetching $what from the distribution"
    # As root, apt would step down to a user that may not write here, and warn about it.
    if ! log=$(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$what" 2>&1); then
        say "$log"
        fail "cannot fetch $what. The package lists may be old: run apt-get update. Also check the network and the room in $cache ($(free_megabytes "$cache") MB free)"
    fi
    verified "$work"/*.deb "$sum" || fail "the fetched $what does not have the checksum that the distribution's lists give"
    mv "$work"/*.deb "$file" && printf '%s\n' "$sum" >"$file.sha256"
}

# --- the image ----------------------------------------------------------------------------------------------------

# make_image PACKAGE FOLDER
make_image() (
    set -e
    package=$1 image=$2 tree=$2/tree
    mkdir -p "$tree"
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$tree" ./boot ./lib/modules 2>/dev/null \
        || dpkg-deb --fsys-tarfile "$package" | tar -x -C "$tree" ./boot ./usr/lib/modules
    [ -d "$tree/lib/modules" ] || ln -s usr/lib "$tree/lib"
    version=$(ls "$tree/lib/modules")
    perl "$RDMA_JDK/lib/vmlinux.pl" "$tree/boot/vmlinuz-$version" "$image/vmlinux"
    make_initramfs "$tree" "$version" "$image/initramfs"
    rm -rf "$tree"
    cd "$image"
    sha256sum vmlinux initramfs >manifest
    sync -d manifest vmlinux initramfs
    facts=$(stat -c '%n %s %Y' vmlinux initramfs manifest)
    printf "%s\n" "$facts" >stat
)

# make_initramfs TREE KERNEL_VERSION OUTPUT
make_initramfs() (
    set -e
    PATH=$PATH:/usr/sbin:/sbin
    tree=$1 version=$2 output=$3 root=$1/initramfs
    mkdir -p "$root/bin" "$root/modules"
    cp /bin/busybox "$root/bin/"
    cp "$RDMA_JDK/lib/guest/init" "$root/init"
    with_libraries "$(command -v rdma)" "$root"
    depmod -b "$tree" "$version"
    for module in $KERNEL_MODULES; do
        # A module that this kernel has built in, or not at all, is left out; the guest says so if it matters.
        modprobe -d "$tree" -S "$version" --show-depends "$module" 2>/dev/null || true
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | busybox awk '!seen[$0]++' >"$tree/order"
    while read -r module; do
        name=$(basename "$module" .xz)
        case $module in
            *.xz) xz -dc "$module" >"$root/modules/$name" ;;
            *) cp "$module" "$root/modules/$name" ;;
        esac
        # Debug information would only make the boot slower.
        ! command -v strip >/dev/null || strip --strip-debug "$root/modules/$name"
        printf '%s\n' "$name"
    done <"$tree/order" >"$root/modules/list"
    [ -s "$root/modules/list" ]
    cd "$root"
    find . | cpio -o -H newc --quiet >"$output"
)

# with_libraries PROGRAM ROOT: copies a program and the shared libraries that it needs.
with_libraries() {
    local library
    cp -L "$1" "$2/bin/"
    ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$2$(dirname "$library")" && cp -L "$library" "$2$library"
    done
}
