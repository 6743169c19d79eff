/** mckey: its options, the senders and receivers of a multicast group, and the counting of received messages. */
@NullMarked
package io.rdmatest.scenarios.mckey;

import org.jspecify.annotations.NullMarked;
