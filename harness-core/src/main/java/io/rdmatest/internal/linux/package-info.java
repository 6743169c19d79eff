/** The calls of Linux and of the RDMA libraries that fail with exceptions. Not API: may change without notice. */
@NullMarked
package io.rdmatest.internal.linux;

import org.jspecify.annotations.NullMarked;
