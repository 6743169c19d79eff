/** Programs that tests start in JVMs of their own; a package that no module has, so that they can stand beside one. */
@NullMarked
package io.rdmatest.launch;

import org.jspecify.annotations.NullMarked;
