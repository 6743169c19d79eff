/** rping: its options, both of its sides, and its messages on the wire. */
@NullMarked
package io.rdmatest.scenarios.rping;

import org.jspecify.annotations.NullMarked;
