/** The commands as a user types them on the host, and one that repeats them. */
@NullMarked
package io.rdmatest.acceptance;

import org.jspecify.annotations.NullMarked;
