/** Tests of what is made of the results of runs. */
@NullMarked
package io.rdmatest.scenarios.qualification;

import org.jspecify.annotations.NullMarked;
