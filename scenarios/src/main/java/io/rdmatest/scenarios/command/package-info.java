/** The parts that commands share: their options, how they run and end, and how they print. */
@NullMarked
package io.rdmatest.scenarios.command;

import org.jspecify.annotations.NullMarked;
