/** Tests of the search for files. */
@NullMarked
package io.rdmatest.fabric.yaml;

import org.jspecify.annotations.NullMarked;
