/** ucmatose: its options, both of its sides with their connections, and roles that connect in unusual ways. */
@NullMarked
package io.rdmatest.scenarios.ucmatose;

import org.jspecify.annotations.NullMarked;
