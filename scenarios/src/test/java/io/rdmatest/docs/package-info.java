/** The code on the pages of {@code docs/}: what stands between "begin" and "end" there is shown there. */
@NullMarked
package io.rdmatest.docs;

import org.jspecify.annotations.NullMarked;
