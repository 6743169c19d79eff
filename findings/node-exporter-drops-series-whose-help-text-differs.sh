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
packages=(prometheus=2.42.0+ds-5+deb12u1 prometheus-node-exporter=1.5.0-1+b6)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net

mkdir textfiles || exit 2
printf '# HELP lab_failed Whether the last test of the fabric failed.\n# TYPE lab_failed gauge\nlab_failed{rail="rail0"} 0\n' > textfiles/rail0.prom
sed -e 's/the last test/the latest test/' -e 's/rail0/rail1/' -e 's/ 0$/ 1/' textfiles/rail0.prom > textfiles/rail1.prom
textfiles_show $'HTTP/1.0 200 OK\nlab_failed{rail="rail0"} 0\nnode_textfile_scrape_error 0' \
    'has help .*should have help\|has help.*should have'
