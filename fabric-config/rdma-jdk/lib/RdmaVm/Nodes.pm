package RdmaVm::Nodes;

# The nodes' places on the segment; lib/guest/init has the same addresses.

use strict;
use warnings;

our $AGENT_PORT = 77;

our %BY_NAME = (
    a => { ipv4 => '10.77.0.1', ipv6 => 'fd77::1' },
    b => { ipv4 => '10.77.0.2', ipv6 => 'fd77::2' },
);

1;
