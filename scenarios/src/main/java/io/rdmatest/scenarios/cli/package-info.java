/**
 * The command line {@code ./rdmatest}: one command per program that rdmatest takes the place of, {@code devices}
 * and {@code fabric check}.
 *
 * <p>A command is a {@link io.rdmatest.scenarios.cli.ProgramCommand}. Its options are an
 * {@link io.rdmatest.scenarios.cli.Arguments} class with the letters of the program's man page and long names, which turns
 * them into the options record of the role. {@link io.rdmatest.scenarios.cli.OptionLine} knows which of these classes belongs
 * to which record, so that annotated tests take the same lines through {@link io.rdmatest.scenarios.EachOptionLine}.
 */
@NullMarked
package io.rdmatest.scenarios.cli;

import org.jspecify.annotations.NullMarked;
