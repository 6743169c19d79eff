/** Reading YAML files with errors that say file, line, column and what is allowed; internal to the project. */
@NullMarked
package io.rdmatest.fabric.yaml;

import org.jspecify.annotations.NullMarked;
