@NullMarked
package io.rdmatest.report;

import org.jspecify.annotations.NullMarked;
