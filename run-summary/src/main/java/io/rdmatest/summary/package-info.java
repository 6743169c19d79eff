/** The summary at the end of a run. */
@NullMarked
package io.rdmatest.summary;

import org.jspecify.annotations.NullMarked;
