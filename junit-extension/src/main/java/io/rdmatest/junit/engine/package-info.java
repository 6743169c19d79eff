/**
 * The machinery behind the annotations: what a test is given and for how long, how it is bounded in time, what its failure
 * means, what it left behind. It is not part of the API. The packages around it name its classes in {@code @ExtendWith} only,
 * but for {@link io.rdmatest.junit.RdmaExtension}, the options and the reports.
 */
@NullMarked
package io.rdmatest.junit.engine;

import org.jspecify.annotations.NullMarked;
