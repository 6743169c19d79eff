/** What every part of the harness shares: deadlines, errors and the ledger of native objects. */
@NullMarked
package io.rdmatest;

import org.jspecify.annotations.NullMarked;
