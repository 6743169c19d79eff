/** The ping-pong: round trips of one operation over one connection, each verified. */
@NullMarked
package io.rdmatest.scenarios.pingpong;

import org.jspecify.annotations.NullMarked;
