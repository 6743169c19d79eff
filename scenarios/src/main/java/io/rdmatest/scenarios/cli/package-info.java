/**
 * The command line {@code ./rdmatest}: one command per program that rdmatest takes the place of, {@code devices}
 * and {@code fabric check}.
 *
 * <p>A command is a {@link io.rdmatest.scenarios.command.ProgramCommand}. Its options are those of the role,
 * {@link io.rdmatest.scenarios.options.Options} with the letters of the program's man page and long names. Annotated tests
 * ({@link io.rdmatest.scenarios.EachOptionLine}), the cells of {@code interop} and other nodes read the same lines.
 */
@NullMarked
package io.rdmatest.scenarios.cli;

import org.jspecify.annotations.NullMarked;
