/**
 * libibverbs as an object model: devices, protection domains, memory regions, completion queues, queue pairs.
 *
 * <p>Parents are factories of their children and can't be closed before them. Values that travel in network order (immediate
 * data, GUIDs) are in host order in parameters and results.
 */
@NullMarked
package io.rdmatest.verbs;

import org.jspecify.annotations.NullMarked;
