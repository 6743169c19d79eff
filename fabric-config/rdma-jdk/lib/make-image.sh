#!/bin/bash
# Makes the image of the machine in a folder: vmlinux, initramfs, manifest (kernel, modules, checksums) and stat.
#
#   make-image.sh FOLDER packages FILE…            from kernel packages (.deb) that belong together
#   make-image.sh FOLDER host VMLINUZ MODULES      from a kernel of this host and its folder in /lib/modules
#
# This is a process of its own: its "set -e" holds in every step, wherever it is called from. The image is complete if the
# status is 0. Otherwise a line that begins with "rdma-vm: ", or else the last line of a program, says why.
# shellcheck enable=check-set-e-suppressed,check-extra-masked-returns
set -euo pipefail
lib=${BASH_SOURCE[0]%/*}
# shellcheck source=common.sh
. "$lib/common.sh"
# shellcheck source=image-format.sh
. "$lib/image-format.sh"

output=$1
kind=$2
shift 2
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
tree=$output/tree
root=$output/root
modules=$tree/usr/lib/modules
mkdir -p "$modules" "$root/bin" "$root/modules"
# Packages of older releases have /lib/modules, and modprobe looks there or in /usr/lib/modules.
ln -s usr/lib "$tree/lib"

# need_program NAME WHAT
need_program() {
    local package command system
    if ! type -P "$1" >/dev/null; then
        package=$(package_of "program:$1")
        command=$(install_command "$package")
        system=$(system_name)
        fail "$2 is compressed with $1, and $system has no program '$1'; run as root: $command"
    fi
}

# --- the kernel and its modules ------------------------------------------------------------------------------------

if [ "$kind" = packages ]; then
    what="the kernel package $*"
    for package; do
        if ! dpkg-deb --fsys-tarfile "$package" | tar -x --no-same-owner --keep-directory-symlink -C "$tree"; then
            fail "the kernel package $package is damaged or cut short; get it again"
        fi
    done
    shopt -s nullglob
    versions=("$modules"/*/)
    shopt -u nullglob
    [ ${#versions[@]} -eq 1 ] \
        || fail "$what must hold the modules of one kernel, and holds those of ${#versions[@]}; name all packages of one kernel"
    version=${versions[0]%/}
    version=${version##*/}
    vmlinuz=$tree/boot/vmlinuz-$version
    [ -e "$vmlinuz" ] || vmlinuz=$modules/$version/vmlinuz
    [ -e "$vmlinuz" ] || fail "$what has modules of $version, and no boot image of it; name the linux-image package as well"
    # depmod reads the modules; where it is built without a way to decompress them, it finds them decompressed.
    features=$(kmod --version)
    while read -r suffix feature program; do
        if [[ $features == *"-$feature"* ]]; then
            packed=$(find "$modules" -name "*.ko.$suffix" -print -quit)
            if [ -n "$packed" ]; then
                need_program "$program" "the module $packed"
                find "$modules" -name "*.ko.$suffix" -exec "$program" -qd {} +
                find "$modules" -name "*.ko.$suffix" -delete
            fi
        fi
    done <<<$'xz XZ xz\nzst ZSTD zstd\ngz ZLIB gzip'
    depmod -b "$tree" "$version"
else
    vmlinuz=$1
    version=${2##*/}
    what="the kernel $vmlinuz of this host"
    ln -s "$2" "$modules/$version"
fi

program=$(perl "$lib/vmlinux.pl" --program "$vmlinuz")
need_program "$program" "$what"
perl "$lib/vmlinux.pl" "$vmlinuz" "$output/vmlinux"

# --- the initial root file system ----------------------------------------------------------------------------------

# copy_program NAME: copies a program and the shared libraries that it needs.
copy_program() {
    local path libraries line library
    path=$(where_is "$1")
    cp -L "$path" "$root/bin/"
    # A static program makes ldd fail.
    if ! libraries=$(ldd "$path" 2>&1); then
        [[ $libraries == *'not a dynamic'* ]] || fail "ldd cannot read $path: $libraries"
        return 0
    fi
    while read -r line; do
        [[ $line != *'not found'* ]] || fail "$path lacks a library: $line"
        if [[ $line =~ (/[^ ]+) ]]; then
            library=${BASH_REMATCH[1]}
            mkdir -p "$root${library%/*}"
            cp -L "$library" "$root$library"
        fi
    done <<<"$libraries"
}

copy_program busybox
copy_program rdma
cp "$lib/guest/init" "$root/init"

# The files of the modules, each after those that it depends on.
files=()
missing=()
declare -A seen=()
for module in $NEEDED_MODULES $OTHER_MODULES; do
    # A line is "insmod FILE" or "builtin NAME". The host's own "install" commands are not for the machine.
    if ! depends=$(modprobe --ignore-install -d "$tree" -S "$version" --show-depends "$module" 2>/dev/null); then
        if [[ " ${NEEDED_MODULES//$'\n'/ } " == *" $module "* ]]; then
            missing+=("$module")
        fi
        continue
    fi
    while read -r word file _; do
        if [ "$word" = insmod ] && [ -z "${seen[$file]-}" ]; then
            seen[$file]=yes
            files+=("$file")
        fi
    done <<<"$depends"
done
[ ${#missing[@]} -eq 0 ] \
    || fail "$what has no module ${missing[*]}, which the virtual machine needs; set RDMA_VM_KERNEL_PACKAGE to packages that have"

: >"$root/modules/list"
for file in "${files[@]}"; do
    name=${file##*/}
    name=${name%.ko*}.ko
    copy=$root/modules/$name
    case $file in
        *.ko) cp -L "$file" "$copy" ;;
        *.ko.xz)
            need_program xz "the module $name"
            xz -dc "$file" >"$copy"
            ;;
        *.ko.zst)
            need_program zstd "the module $name"
            zstd -qdc "$file" >"$copy"
            ;;
        *.ko.gz)
            need_program gzip "the module $name"
            gzip -dc "$file" >"$copy"
            ;;
        *) fail "the module $file is compressed in a way that is not known here" ;;
    esac
    magic=$(head -c 4 "$copy")
    [ "$magic" = "$ELF" ] || fail "$what has a damaged module: $file"
    # Debug information would only make the boot slower.
    if type -P strip >/dev/null; then
        strip --strip-debug "$copy"
    fi
    printf '%s\n' "$name" >>"$root/modules/list"
done
(cd "$root" && find . | cpio -o -H newc --quiet) >"$output/initramfs"

# --- what makes it an image ----------------------------------------------------------------------------------------

rm -rf "$tree" "$root"
cd "$output"
sums=$(sha256sum vmlinux initramfs)
printf '%s\n# kernel %s\n# modules %s\n%s\n' "$IMAGE_FORMAT" "$version" "${files[*]##*/}" "$sums" >manifest
sync -d manifest vmlinux initramfs
facts=$(stat -c '%n %s %Y' vmlinux initramfs manifest)
printf '%s\n' "$facts" >stat
