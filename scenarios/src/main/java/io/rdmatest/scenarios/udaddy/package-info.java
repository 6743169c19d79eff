/** udaddy: its options, and both of its sides with their datagram paths. */
@NullMarked
package io.rdmatest.scenarios.udaddy;

import org.jspecify.annotations.NullMarked;
