/** What earlier runs and the one just made say of a fabric, held against each other. */
@NullMarked
package io.rdmatest.scenarios.qualification;

import org.jspecify.annotations.NullMarked;
