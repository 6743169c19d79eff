#!/bin/bash
# A minimal Debian system in a folder, for SystemsIT. Root only.
#
#   system.sh make FOLDER SUITE           makes it, from the mirror that this host uses
#   system.sh run FOLDER USER COMMAND…    runs a command in it, as root or as tester
#
# JDK, MAVEN and REPOSITORY name this host's JDK, which the system sees, and Maven and local repository, which it has copies of.
# All mounts are in a namespace of the process, so none is left behind, however it ends.
set -euo pipefail

if [ -z "${SYSTEM_NAMESPACE-}" ]; then
    export SYSTEM_NAMESPACE=yes
    exec unshare --mount --pid --fork --kill-child "$BASH" "${BASH_SOURCE[0]}" "$@"
fi

action=$1
root=$2
shift 2
mount --make-rprivate /

case $action in
    make)
        release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
        # Sources name a release or, as stable does, another name of it.
        # shellcheck disable=SC2016 # apt's names
        sites=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Release: $release"
            apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $release")
        mirror=$(head -n 1 <<<"$sites")
        [ -n "$mirror" ] || { echo "apt has no source for $release on this host" >&2 && exit 1; }
        # apt's proxy is debootstrap's, too.
        eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
        export http_proxy
        debootstrap --variant=minbase "$1" "$root" "$mirror"
        apt-config dump | sed -n '/^Acquire::/p' >"$root/etc/apt/apt.conf.d/90host"
        cp --dereference --recursive "$MAVEN" "$root/opt/maven"
        ln -s /opt/maven/bin/mvn "$root/usr/local/bin/mvn"
        chroot "$root" useradd --create-home tester
        for home in root home/tester; do
            mkdir "$root/$home/.m2"
            echo '<settings><localRepository>/opt/repository</localRepository><offline>true</offline></settings>' \
                >"$root/$home/.m2/settings.xml"
        done
        # Maven writes beside what it reads, and everybody in the system may read what is perhaps one user's here.
        cp --recursive "$REPOSITORY" "$root/opt/repository"
        chmod -R a+rX "$root/opt"
        mkdir -p "$root/usr/lib/jvm/jdk"
        ;;
    run)
        user=$1
        shift
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/run"
        cp /etc/resolv.conf "$root/etc/resolv.conf"
        mount --bind "$JDK" "$root/usr/lib/jvm/jdk"
        mount -o remount,bind,ro "$root/usr/lib/jvm/jdk"
        home=/root
        [ "$user" = root ] || home=/home/$user
        exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i "HOME=$home" LANG=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
        ;;
    *)
        echo "system.sh: no action '$action'" >&2
        exit 2
        ;;
esac
