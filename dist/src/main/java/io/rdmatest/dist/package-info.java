/** What comes with the commands where they are installed. */
@NullMarked
package io.rdmatest.dist;

import org.jspecify.annotations.NullMarked;
