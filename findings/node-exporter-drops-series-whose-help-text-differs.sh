#!/usr/bin/env bash
# prometheus-node-exporter 1.5.0 (Debian 12): a series of the textfile collector is dropped if the # HELP of its metric differs from that
# of another file, though no label and no series is the same.
#
# Expected: both series: a help text is documentation. Prometheus itself takes the two texts from two targets.
# Seen:     status 200, node_textfile_scrape_error 0, and only the series of the file whose name sorts first. So after an upgrade of the
#           program that writes one of the files, and that changed a word of its help, the result of the other file is gone. Only the
#           log has a line. Each file alone is right for promtool check metrics.
#
# Needs Debian 12 on amd64, root and apt-get. Runs in namespaces of its own, so nothing is left behind.
# Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
cant_tell() { echo "can't tell: $*" >&2; exit 2; }

if [ "${1-}" != within ]; then
    [ "$(id -u)" = 0 ] || cant_tell "this needs root"
    folder=$(mktemp -d) || exit 2
    trap 'rm -rf "$folder"' EXIT
    script=$(readlink -f "${BASH_SOURCE[0]}")
    cd "$folder" || exit 2
    apt-get -o APT::Sandbox::User=root download -qq prometheus=2.42.0+ds-5+deb12u1 prometheus-node-exporter=1.5.0-1+b6 ||
        cant_tell "the packages are not there"
    for package in *.deb; do dpkg -x "$package" root || exit 2; done
    timeout 120 unshare --net --pid --fork --kill-child bash "$script" within "$folder"
    exit
fi

cd "$2" || exit 2
ip link set lo up || exit 2
mkdir textfiles || exit 2
printf '# HELP lab_failed Whether the last test of the fabric failed.\n# TYPE lab_failed gauge\nlab_failed{rail="rail0"} 0\n' > textfiles/rail0.prom
sed -e 's/the last test/the latest test/' -e 's/rail0/rail1/' -e 's/ 0$/ 1/' textfiles/rail0.prom > textfiles/rail1.prom
for file in textfiles/*.prom; do root/usr/bin/promtool check metrics < "$file" || cant_tell "promtool refuses $file"; done

root/usr/bin/prometheus-node-exporter --web.listen-address=127.0.0.1:9100 --collector.disable-defaults --collector.textfile \
    --collector.textfile.directory=textfiles 2> log &
scrape() {
    exec 3<> /dev/tcp/127.0.0.1/9100 || return
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
    cat <&3 | tr -d '\r' > answer
    exec 3>&-
}
for _ in {1..300}; do scrape 2> /dev/null && break; sleep 0.1; done
for _ in {1..10}; do
    scrape || cant_tell "node_exporter does not answer: $(cat log)"
    grep -E '^HTTP|^lab_failed|^node_textfile_scrape_error' answer
    echo
done > seen
root/usr/bin/prometheus-node-exporter --version 2>&1 | head -1
sort seen | uniq -c
grep -m 1 -o 'has help .*should have help\|has help.*should have' log
expected=$'HTTP/1.0 200 OK\nlab_failed{rail="rail0"} 0\nnode_textfile_scrape_error 0\n'
if [ "$(cat seen)" != "$(for _ in {1..10}; do echo "$expected"; done)" ]; then
    echo "changed" >&2
    exit 1
fi
