/** What a run tells at its end. */
@NullMarked
package io.rdmatest.summary;

import org.jspecify.annotations.NullMarked;
