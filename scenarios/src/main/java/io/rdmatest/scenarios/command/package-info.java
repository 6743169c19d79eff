/** What the commands share: options, the way they run and end, and what they print. */
@NullMarked
package io.rdmatest.scenarios.command;

import org.jspecify.annotations.NullMarked;
