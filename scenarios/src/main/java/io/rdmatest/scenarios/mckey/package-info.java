/** mckey: its options, senders and receivers of a multicast group, and the account of what arrives. */
@NullMarked
package io.rdmatest.scenarios.mckey;

import org.jspecify.annotations.NullMarked;
