/** The commands as a user types them on the host. */
@NullMarked
package io.rdmatest.acceptance;

import org.jspecify.annotations.NullMarked;
