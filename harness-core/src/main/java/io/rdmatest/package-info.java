/** Shared by every part of the harness: causes, exceptions and the ledger of native objects. */
@NullMarked
package io.rdmatest;

import org.jspecify.annotations.NullMarked;
