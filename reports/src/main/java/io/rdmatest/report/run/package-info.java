/** A run: the journals that its JVMs write, and the one model of it that is read from them. */
@NullMarked
package io.rdmatest.report.run;

import org.jspecify.annotations.NullMarked;
