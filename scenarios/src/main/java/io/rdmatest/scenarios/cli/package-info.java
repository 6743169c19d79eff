/**
 * The command line {@code ./rdmatest}: one command per program that rdmatest takes the place of, {@code devices}
 * and {@code fabric check}.
 *
 * <p>A command is a {@link io.rdmatest.scenarios.cli.ProgramCommand}. Its options are those of the role,
 * {@link io.rdmatest.scenarios.engine.Options} with the letters of the program's man page and long names. Of some programs they are
 * an {@link io.rdmatest.scenarios.cli.Arguments} class that makes the record of the role.
 * {@link io.rdmatest.scenarios.cli.OptionLine} knows both, so that annotated tests take the same lines through
 * {@link io.rdmatest.scenarios.EachOptionLine}.
 */
@NullMarked
package io.rdmatest.scenarios.cli;

import org.jspecify.annotations.NullMarked;
