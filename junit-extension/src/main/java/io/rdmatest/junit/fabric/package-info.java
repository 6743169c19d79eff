/**
 * Tests of a whole fabric: faults that its nodes inject, and counters of the ports of other nodes.
 */
@NullMarked
package io.rdmatest.junit.fabric;

import org.jspecify.annotations.NullMarked;
