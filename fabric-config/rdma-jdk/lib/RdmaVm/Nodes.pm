package RdmaVm::Nodes;

# The nodes' places on the segment; lib/guest/init has the same addresses.

use strict;
use warnings;

our $AGENT_PORT = 77;

our %BY_NAME = (
    a => { ipv4 => '10.77.0.1', ipv6 => 'fd77::1' },
    b => { ipv4 => '10.77.0.2', ipv6 => 'fd77::2' },
    c => { ipv4 => '10.77.0.3', ipv6 => 'fd77::3' },
    d => { ipv4 => '10.77.0.4', ipv6 => 'fd77::4' },
);

our @NAMES = sort keys %BY_NAME;

1;
