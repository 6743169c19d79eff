/** The page of a run: one file, made from the data files that the run left, which opens from disk. */
@NullMarked
package io.rdmatest.report.page;

import org.jspecify.annotations.NullMarked;
