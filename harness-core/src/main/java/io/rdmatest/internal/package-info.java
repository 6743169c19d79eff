/** Native calls for the packages of this module. Not API: may change without notice. */
@NullMarked
package io.rdmatest.internal;

import org.jspecify.annotations.NullMarked;
