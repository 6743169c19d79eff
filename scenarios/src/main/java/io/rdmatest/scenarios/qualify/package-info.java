/** The command {@code ./qualify}: it starts the scenarios' JVMs, shows how they go on, and decides how it all ends. */
@NullMarked
package io.rdmatest.scenarios.qualify;

import org.jspecify.annotations.NullMarked;
