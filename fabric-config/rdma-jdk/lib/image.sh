# shellcheck shell=bash
# The machine's image: a kernel and an initramfs, kept in the cache.
#
#   CACHE/packages/PACKAGE.deb, .sha256   the distribution's kernel package, as the distribution signs for it
#   CACHE/images/KEY/                     see make-image.sh; KEY names the kernel and the recipe
#   CACHE/templates/KEY/                  snapshots, see vm.pl
#   CACHE/current-RECIPE-CHOICE           the image in use and what it was decided from; one for each version of this project
#                                         and each setting of RDMA_VM_KERNEL_PACKAGE
#
# Everything is made under a temporary name and renamed when complete and checked, by one process at a time (CACHE/lock).
# So what has its final name is whole, unless something damaged it later; the manifest tells.
#
# Nothing here relies on "set -e": it would not hold in a function that is called in a condition or before "||".

# shellcheck source=image-format.sh
. "$RDMA_JDK/lib/image-format.sh"

readonly NEEDED_MEGABYTES=400

# Exit status of prepare_image where newer package lists may help.
readonly LISTS_MISSING_OR_OLD=75

# --- asking -------------------------------------------------------------------------------------------------------

# Prints the folder of a complete image; makes it if there is none.
ready_image() {
    local cache image
    cache=$(cache_directory)
    if [ -n "$cache" ] && read -r image _ 2>/dev/null <"$(current_file "$cache")" && looks_whole "$cache/images/$image"; then
        printf '%s\n' "$cache/images/$image"
        return
    fi
    prepare_image
}

# Whether the image is prepared, and from the newest kernel that this host knows of.
image_is_prepared() {
    local cache image known
    cache=$(cache_directory)
    [ -n "$cache" ] && read -r image known 2>/dev/null <"$(current_file "$cache")" \
        && [ "$known" = "$(kernels_state)" ] && is_whole "$cache/images/$image"
}

# A cheap look (format, kind of kernel, sizes and times of change), for every start.
looks_whole() {
    local LC_ALL=C format='' magic=''
    { IFS= read -r format <"$1/manifest" && IFS= read -r -N 4 magic <"$1/vmlinux"; } 2>/dev/null
    [ "$format" = "$IMAGE_FORMAT" ] && [ "$magic" = "$ELF" ] && [ -f "$1/stat" ] \
        && [ "$(cd "$1" && stat -c '%n %s %Y' vmlinux initramfs manifest 2>/dev/null)" = "$(<"$1/stat")" ]
}

# The full look (checksums), for setup.
is_whole() {
    looks_whole "$1" && (cd "$1" && sha256sum --quiet --status -c manifest 2>/dev/null)
}

# What the initramfs is made from besides the kernel: our own files and the host's programs in it.
recipe() {
    {
        cat "$RDMA_JDK"/lib/{guest/init,image.sh,make-image.sh,image-format.sh,vmlinux.pl}
        stat -Lc '%s %Y' "$(where_is busybox)" "$(where_is rdma)" 2>/dev/null
    } | sha256sum | cut -c1-12
}

# Stands for the kernel that is asked for: a named package that was changed is another choice.
choice() {
    local packages
    if [ -z "${RDMA_VM_KERNEL_PACKAGE-}" ]; then
        echo newest
    else
        IFS=: read -ra packages <<<"$RDMA_VM_KERNEL_PACKAGE"
        { printf '%s\n' "${packages[@]}" && stat -Lc '%s %y' "${packages[@]}" 2>/dev/null; } | sha256sum | cut -c1-12
    fi
}

current_file() { printf '%s\n' "$1/current-$(recipe)-$(choice)"; }

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

# In a shell of its own, which fail ends.
prepare_image_locked() {
    local cache=$1 current image='' known='' work='' wanted
    # No half of anything stays behind an error or a signal, nor behind one that was killed before.
    trap 'rm -rf "$cache"/images/.making* "$cache"/packages/.fetching*' EXIT
    trap 'exit 130' INT TERM HUP
    rm -rf "$cache"/images/.making* "$cache"/packages/.fetching*
    wanted=$(kernels_state)
    current=$(current_file "$cache")
    if read -r image known 2>/dev/null <"$current" && [ "$known" = "$wanted" ] && is_whole "$cache/images/$image"; then
        printf '%s\n' "$cache/images/$image"
        return
    fi

    need_programs busybox cpio modprobe depmod rdma perl
    find_kernel "$cache"
    image=$kernel_name-$(recipe)
    if ! is_whole "$cache/images/$image"; then
        [ ! -e "$cache/images/$image" ] || say "the image in the cache is damaged or incomplete; making it anew"
        require_space "$cache"
        say "preparing the virtual machine's image from $kernel_name"
        work=$cache/images/.making.$$
        rm -rf "$cache/images/$image"
        mkdir "$work" || fail "cannot write in the cache $cache: $(disk_state "$cache")"
        make_image "$work" "${kernel[@]}"
        mv "$work" "$cache/images/$image" || fail "cannot write in the cache $cache: $(disk_state "$cache")"
    fi
    { printf '%s %s\n' "$image" "$wanted" >"$current.new" && mv "$current.new" "$current"; } 2>/dev/null || {
        rm -f "$current.new"
        fail "cannot write in the cache $cache: $(disk_state "$cache")"
    }
    prune "$cache" "$image"
    printf '%s\n' "$cache/images/$image"
}

# Makes the image, or ends with one sentence that says why there is none: make_image FOLDER KIND…, as for make-image.sh.
make_image() {
    local folder=$1 log reason
    log=$(bash "$RDMA_JDK/lib/make-image.sh" "$@" 2>&1) && return
    case $log in
        # The second is what tar says of a disk that took a part.
        *'No space left on device'* | *': Wrote only '* | *'Disk quota exceeded'*)
            fail "the disk of the cache became full while the image was made: $NEEDED_MEGABYTES MB are needed;" \
                "in $(dirname "$(dirname "$folder")") $(disk_state "$folder")"
            ;;
    esac
    reason=$(sed -n 's/^rdma-vm: //p' <<<"$log" | tail -n 1)
    [ -z "$reason" ] || fail "$reason"
    fail "cannot make the virtual machine's image from $kernel_name: $(tail -n 1 <<<"$log")"
}

# Changes when the kernels that this host knows of change: those of the distribution's lists and those that are installed.
kernels_state() {
    if [ -n "${RDMA_VM_KERNEL_PACKAGE-}" ]; then
        choice
    else
        { stat -c %Y "$HOST_ROOT/var/lib/apt/lists" && ls -d "$HOST_ROOT"/lib/modules/*; } 2>/dev/null | sha256sum | cut -c1-12
    fi
}

free_megabytes() { df -Pm "$1" 2>/dev/null | sed -n '2s/^[^ ]* *[0-9]* *[0-9]* *\([0-9]*\).*/\1/p'; }

disk_state() { printf '%s MB are free; free some, or set RDMA_VM_CACHE to a folder on another disk\n' "$(free_megabytes "$1")"; }

require_space() {
    local free
    free=$(free_megabytes "$1")
    [ "${free:-$NEEDED_MEGABYTES}" -ge "$NEEDED_MEGABYTES" ] \
        || fail "the disk of the cache $1 is full: $NEEDED_MEGABYTES MB are needed, $(disk_state "$1")"
}

# need_programs NAME…
need_programs() {
    local missing
    missing=$(missing_packages "${@/#/program:}")
    [ -z "$missing" ] || fail "$(system_name) lacks what makes the virtual machine's image; run as root: $(install_command "$missing")"
}

# What was not used for two weeks goes, except what a running VM may still read. Not earlier: another checkout of this
# project may use the same cache.
prune() {
    local cache=$1 image=$2 old
    touch "$cache/images/$image"
    find "$cache/images" "$cache/packages" "$cache/templates" -mindepth 1 -maxdepth 1 -mtime +14 | while read -r old; do
        if [ ! -d "$old" ] || unused "$old"; then rm -rf "$old"; fi
    done
    find "$cache" -maxdepth 1 -type f \( -name 'current-*' -o -name 'kvm-*' \) -mtime +14 -delete
}

# A VM keeps a shared lock on its image's manifest.
unused() { [ ! -e "$1/manifest" ] || flock -n "$1/manifest" true 2>/dev/null; }

# --- the kernel ---------------------------------------------------------------------------------------------------

# Decides from which kernel the image is made, and ends with a sentence where there is none. Sets kernel, the arguments of
# make-image.sh after the folder, and kernel_name.
find_kernel() {
    local cache=$1 have
    if [ -n "${RDMA_VM_KERNEL_PACKAGE-}" ]; then
        use_named_packages "$cache"
        return
    fi
    if use_newest_package "$cache"; then
        return
    fi
    # Without the distribution's lists (no network, never updated) a kernel that was fetched once is good enough.
    if where_is dpkg-deb >/dev/null; then
        for have in "$cache"/packages/linux-image-*.deb; do
            if verified "$have" && whole_kernel "$cache" "$have"; then
                touch "$have"
                kernel_name=$(basename "$have" .deb)
                return
            fi
        done
    fi
    use_host_kernel && return
    say "$(system_name) has no kernel for the virtual machine: $no_package, and $no_host_kernel. $(kernel_advice)"
    exit "$LISTS_MISSING_OR_OLD"
}

kernel_advice() {
    local manager distribution
    manager=$(package_manager)
    distribution=$(release_fact ID)
    case $manager/$distribution in
        apt/debian) echo "Run as root: apt-get update" ;;
        apt/*)
            echo "Fetch linux-image, linux-modules and linux-modules-extra of one kernel with apt-get download," \
                "and name the three files in RDMA_VM_KERNEL_PACKAGE, separated by ':'"
            ;;
        dnf/*) echo "Run as root: dnf install -y kernel kernel-modules-extra" ;;
        zypper/*) echo "Run as root: zypper install -y kernel-default" ;;
        pacman/*) echo "Run as root: pacman -S --noconfirm linux" ;;
        *) echo "Install a kernel that has the module rdma_rxe, or name Debian's linux-image package in RDMA_VM_KERNEL_PACKAGE" ;;
    esac
}

use_named_packages() {
    local cache=$1 package packages
    need_programs dpkg-deb
    IFS=: read -ra packages <<<"$RDMA_VM_KERNEL_PACKAGE"
    for package in "${packages[@]}"; do
        [ -r "$package" ] || fail "RDMA_VM_KERNEL_PACKAGE=$package cannot be read; it takes kernel packages (.deb), separated by ':'"
        dpkg-deb -f "$package" Package >/dev/null 2>&1 \
            || fail "RDMA_VM_KERNEL_PACKAGE=$package is not a Debian package; it takes kernel packages (.deb), separated by ':'"
    done
    whole_kernel "$cache" "${packages[@]}" \
        || fail "RDMA_VM_KERNEL_PACKAGE=$RDMA_VM_KERNEL_PACKAGE is not a whole kernel: $no_package." \
            "Put the file of that package beside it, or name it as well, separated by ':'"
    kernel_name=$(basename "${packages[0]}" .deb | tr -c 'A-Za-z0-9.%+~\n-' _)-$(choice)
}

# Fetches Debian's newest kernel if it is not in the cache. Where there is none, no_package says why.
use_newest_package() {
    local cache=$1 name
    no_package='no kernel package is fetched here: there is no apt-get'
    where_is apt-get >/dev/null && where_is dpkg-deb >/dev/null || return 1
    no_package='the package lists offer no kernel (linux-image-amd64): they are missing or old, or this is not Debian'
    name=$(newest_kernel) || return 1
    package_from_lists "$cache" "$name" || return 1
    kernel_name=$(basename "$package_file" .deb)
    whole_kernel "$cache" "$package_file"
}

# Sets kernel to packages and to all packages of the same kernel that they depend on: whole_kernel CACHE FILE…. From 7.2 on
# Debian's linux-image-VERSION holds nothing: it depends on linux-binary-, linux-modules- and linux-base-VERSION. Each is looked
# for beside the package that wants it, then in the distribution's lists. Where one is not found, no_package says which.
whole_kernel() {
    local cache=$1 file name wanted version have
    local -A names=()
    shift
    kernel=(packages)
    for file; do names[$(dpkg-deb -f "$file" Package)]=yes; done
    while [ $# -gt 0 ]; do
        file=$1
        shift
        kernel+=("$file")
        name=$(dpkg-deb -f "$file" Package)
        while read -r wanted version; do
            [ -z "${names[$wanted]-}" ] || continue
            names[$wanted]=yes
            package_beside "$cache" "$file" "$wanted" "$version" || package_from_lists "$cache" "$wanted" "$version" || {
                no_package="$name depends on $wanted${version:+ ($version)}: $no_package"
                return 1
            }
            set -- "$@" "$package_file"
        done < <(kernel_dependencies "$file" "$name")
    done
}

# Prints "NAME [VERSION]" of each package that a kernel package depends on and that is of the same kernel.
kernel_dependencies() {
    local LC_ALL=C name version kernel_version=''
    [[ $2 =~ ^linux-[a-z-]+-([0-9].*)$ ]] && kernel_version=${BASH_REMATCH[1]}
    [ -n "$kernel_version" ] || return 0
    # "NAME:ARCHITECTURE (= VERSION) | ANOTHER", with a comma between two.
    dpkg-deb -f "$1" Depends | tr , '\n' \
        | sed -E 's/\|.*//; s/^ *([^ :(]+)[^ (]*/\1/; s/ *\(= *([^)]*)\)/ \1/; s/ *\(.*//' \
        | while read -r name version; do
            [[ $name != linux-*-"$kernel_version" ]] || printf '%s %s\n' "$name" "$version"
        done
}

# Sets package_file to a package that lies beside a named one: package_beside CACHE FILE NAME [VERSION].
package_beside() {
    local folder version=${4:-*}
    folder=$(dirname "$2")
    # A file of the cache is used with its checksum only.
    [ ! "$folder" -ef "$1/packages" ] || return 1
    package_file=$(find "$folder" -maxdepth 1 -name "$3_${version//:/%3a}_*.deb" | sort -V | tail -n 1)
    [ -n "$package_file" ]
}

# Sets package_file to a package in the cache, fetched if need be: package_from_lists CACHE NAME [VERSION]. Where there is none,
# no_package says why.
package_from_lists() {
    local cache=$1 name=$2 version=${3-} sum=''
    # A version that was fetched once needs no list.
    package_file=$cache/packages/${name}_${version//:/%3a}_amd64.deb
    if [ -n "$version" ] && verified "$package_file"; then
        touch "$package_file"
        return
    fi
    no_package="the package lists do not offer $name: they are missing or old, or this is not Debian"
    # A package that is installed and in no list has no checksum: nobody offers it.
    read -r version sum < <(apt-cache show --no-all-versions "$name${version:+=$version}" 2>/dev/null | package_facts)
    [ -n "$sum" ] || return 1
    package_file=$cache/packages/${name}_${version//:/%3a}_amd64.deb
    if ! verified "$package_file" "$sum"; then
        [ ! -e "$package_file" ] || say "the kernel package in the cache is damaged; fetching it again"
        fetch_package "$cache" "$name=$version" "$sum" "$package_file" || return 1
    fi
    touch "$package_file"
}

package_facts() { sed -n 's/^Version: //p; s/^SHA256: //p' | tr '\n' ' '; }

# The generic image's meta package depends on the newest one (the cloud one has no rxe).
newest_kernel() {
    LC_ALL=C apt-cache depends --important linux-image-amd64 2>/dev/null \
        | sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | sort -V | tail -n 1 | grep .
}

# verified FILE [SHA256]: the checksum noted when the package was fetched, or the one that apt knows.
verified() {
    local sum=${2-}
    [ -n "$sum" ] || sum=$(cat "$1.sha256" 2>/dev/null)
    [ -n "$sum" ] && printf '%s  %s\n' "$sum" "$1" | sha256sum --quiet --status -c 2>/dev/null
}

# Returns 1 where it cannot be fetched: no_package says why.
fetch_package() {
    local cache=$1 what=$2 sum=$3 file=$4 work log
    require_space "$cache"
    work=$cache/packages/.fetching.$$
    # A kernel of several packages comes here for each of them.
    rm -rf "$work"
    mkdir "$work" || fail "cannot write in the cache $cache: $(disk_state "$cache")"
    say "fetching $what from the distribution"
    # As root, apt would step down to a user that may not write here, and warn about it.
    if ! log=$(cd "$work" && LC_ALL=C apt-get -qq -o APT::Sandbox::User=root download "$what" 2>&1); then
        case $log in *'No space left on device'*) fail "the disk of the cache $cache became full: $(disk_state "$cache")" ;; esac
        no_package="cannot fetch $what ($(tail -n 1 <<<"$log")): check the network; the package lists may be old"
        return 1
    fi
    verified "$work"/*.deb "$sum" || fail "the fetched $what does not have the checksum that the distribution's lists give"
    { printf '%s\n' "$sum" >"$file.sha256" && mv "$work"/*.deb "$file"; } 2>/dev/null || {
        rm -f "$file.sha256"
        fail "cannot write in the cache $cache: $(disk_state "$cache")"
    }
}

# The newest kernel of this host that has soft-RoCE and that this user may read. Where there is none, no_host_kernel says why.
use_host_kernel() {
    local folder folders=() version image reason=''
    mapfile -t folders < <(printf '%s\n' "$HOST_ROOT"/lib/modules/* | sort -rV)
    for folder in "${folders[@]}"; do
        [ -d "$folder" ] || continue
        version=${folder##*/}
        if ! grep -qs '/rdma_rxe\.ko' "$folder/modules.dep" "$folder/modules.builtin"; then
            reason=${reason:-"the modules of $version in /lib/modules have no soft-RoCE (rdma_rxe)"}
            continue
        fi
        image=$folder/vmlinuz
        [ -e "$image" ] || image=$HOST_ROOT/boot/vmlinuz-$version
        if [ -r "$image" ]; then
            kernel=(host "$image" "$folder")
            # An update may keep the version: then the file is another one.
            kernel_name=host-$version-$(stat -Lc %Y "$image")
            return
        elif [ -e "$image" ]; then
            reason=${reason:-"user $(id -un) cannot read the host's kernel $image (as root: chmod a+r $image)"}
        else
            reason=${reason:-"there is no boot image of the kernel $version, neither in /boot nor in /lib/modules/$version"}
        fi
    done
    no_host_kernel=${reason:-"no kernel is installed on this host"}
    return 1
}
