/** Native call machinery shared by the packages of this module. Not API: may change without notice. */
@NullMarked
package io.rdmatest.internal;

import org.jspecify.annotations.NullMarked;
