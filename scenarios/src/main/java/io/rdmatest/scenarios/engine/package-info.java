/**
 * The parts of roles that programs share: links and pools, polling, payloads, and the device that a connection uses. This
 * package does not depend on any program.
 */
@NullMarked
package io.rdmatest.scenarios.engine;

import org.jspecify.annotations.NullMarked;
