#!/bin/bash
# A minimal Debian system in a folder, for SystemsIT. Root only.
#
#   system.sh check FOLDER                whether root may do here what follows; else says what fails
#   system.sh make FOLDER SUITE           makes it, from the mirror that this host uses
#   system.sh run FOLDER USER COMMAND…    runs a command in it, as root or as tester
#
# JDK, MAVEN and REPOSITORY name this host's JDK, Maven and local repository. The system has copies of them.
# All mounts and processes are in namespaces that end with this process, and this process ends with its parent. So none of them
# is left behind, however a test ends.
set -euo pipefail

if [ -z "${SYSTEM_NAMESPACE-}" ]; then
    export SYSTEM_NAMESPACE=yes
    exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child "$BASH" "${BASH_SOURCE[0]}" "$@"
fi

action=$1
root=$2
shift 2
mount --make-rprivate /

case $action in
    check)
        mkdir "$root/probe"
        mount -t tmpfs tmpfs "$root/probe"
        mount -t proc proc "$root/probe"
        umount "$root/probe" && umount "$root/probe" && rmdir "$root/probe"
        mknod "$root/probe" c 1 3
        # A device opens only on a file system that is mounted without nodev.
        echo >"$root/probe"
        rm "$root/probe"
        ;;
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
        # A mirror that is a few weeks old is good enough, also for sid, whose lists are valid for one week.
        echo 'Acquire::Check-Valid-Until "false";' >>"$root/etc/apt/apt.conf.d/90host"
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
        # The project's prepared classes know the JDK by its times. A distribution's JDK has links to /etc, and one to its sources
        # where these are not installed: cp leaves that out and fails.
        mkdir -p "$root/usr/lib/jvm"
        cp --dereference --recursive --preserve=timestamps "$JDK" "$root/usr/lib/jvm/jdk" || [ -x "$root/usr/lib/jvm/jdk/bin/java" ]
        chmod -R a+rX "$root/usr/lib/jvm"
        ;;
    run)
        user=$1
        shift
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/run"
        cp /etc/resolv.conf "$root/etc/resolv.conf"
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
