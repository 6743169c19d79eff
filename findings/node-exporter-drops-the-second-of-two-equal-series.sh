#!/usr/bin/env bash
# prometheus-node-exporter 1.5.0 (Debian 12): of two *.prom files of the textfile collector that have the same series with different
# values, one is dropped, and no metric says so.
#
# Expected: the scrape fails, as promhttp's handler does by default for series that are collected twice; or
#           node_textfile_scrape_error is 1, "1 if there was an error opening or reading a file".
# Seen:     status 200, node_textfile_scrape_error 0, and the value of the file whose name sorts first, ten times of ten. The value of
#           the other file is nowhere: a failed rail is invisible beside a good one. Only the log has a line.
#           Each file alone is right for promtool check metrics.
#
# Needs Debian 12 on amd64, root and apt-get. Runs in namespaces of its own, so nothing is left behind.
# Ends with 0 if it is still so, with 1 if it has changed, with 2 if it can't tell.
set -uo pipefail
packages=(prometheus=2.42.0+ds-5+deb12u1 prometheus-node-exporter=1.5.0-1+b6)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
isolate --net

mkdir textfiles || exit 2
printf '# HELP lab_failed Whether the last test of the fabric failed.\n# TYPE lab_failed gauge\nlab_failed{fabric="lab"} 0\n' > textfiles/rail0.prom
sed 's/ 0$/ 1/' textfiles/rail0.prom > textfiles/rail1.prom
textfiles_show $'HTTP/1.0 200 OK\nlab_failed{fabric="lab"} 0\nnode_textfile_scrape_error 0' \
    'was collected before with the same name and label values'
