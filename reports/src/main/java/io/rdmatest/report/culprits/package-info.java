/** Files of measured pairs, and the causes of bad pairs: nodes, ports, blocks and paths. */
@NullMarked
package io.rdmatest.report.culprits;

import org.jspecify.annotations.NullMarked;
