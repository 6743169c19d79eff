# shellcheck shell=bash
#
# What the scripts here share. Each sets packages, an array of NAME=VERSION, and sources this.

cant_tell() { echo "can't tell: $*" >&2; exit 2; }

changed() { echo "changed" >&2; exit 1; }

# Runs the script again in namespaces of its own, and ends as that does: isolate OPTIONS of unshare(1).
# There this returns at once: in a temporary folder, where root has the files of the packages.
isolate() {
    [ -z "${isolated-}" ] || return 0
    [ "$(id -u)" = 0 ] || cant_tell "this needs root"
    script=$(readlink -f "$0")
    folder=$(mktemp -d) || exit 2
    trap 'rm -rf "$folder"' EXIT
    cd "$folder" || exit 2
    apt-get -o APT::Sandbox::User=root download -qq "${packages[@]:?}" || cant_tell "the packages are not there"
    for package in *.deb; do dpkg -x "$package" root || exit 2; done
    isolated=yes timeout 120 unshare --pid --fork --kill-child "$@" bash "$script"
    status=$?
    [ $status -le 2 ] || cant_tell "the script ended with status $status; timeout(1) ends with 124"
    exit $status
}

# Lets the textfile collector of node_exporter read *.prom in the folder textfiles, and scrapes it ten times:
# textfiles_show LINES REASON. It has changed unless each scrape shows LINES. The part of the log that matches REASON is printed.
textfiles_show() {
    local lines=$1 reason=$2 file
    for file in textfiles/*.prom; do root/usr/bin/promtool check metrics < "$file" || cant_tell "promtool refuses $file"; done
    ip link set lo up || exit 2
    root/usr/bin/prometheus-node-exporter --web.listen-address=127.0.0.1:9100 --collector.disable-defaults --collector.textfile \
        --collector.textfile.directory=textfiles 2> log &
    for _ in {1..300}; do scrape 2> /dev/null && break; sleep 0.1; done
    for _ in {1..10}; do
        scrape || cant_tell "node_exporter does not answer: $(cat log)"
        grep -E '^HTTP|^lab_failed|^node_textfile_scrape_error' answer
        echo
    done > seen
    root/usr/bin/prometheus-node-exporter --version 2>&1 | head -1
    sort seen | uniq -c
    grep -m 1 -o "$reason" log
    [ "$(cat seen)" = "$(for _ in {1..10}; do echo "$lines"; echo; done)" ] || changed
}

scrape() {
    exec 3<> /dev/tcp/127.0.0.1/9100 || return
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
    cat <&3 | tr -d '\r' > answer
    exec 3>&-
}
