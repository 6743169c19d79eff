package io.rdmatest.scenarios.cli;

/**
 * The options of one program on a command line: a picocli mixin whose fields carry the man page's letters, meanings and
 * defaults, and long names.
 *
 * <p>A class that implements this has a constructor without parameters, and is named in {@link OptionLine}.
 *
 * @param <O> the options record of the role
 */
@FunctionalInterface
public interface Arguments<O> {

    /**
     * Makes the role's options of what was given.
     *
     * @param common what every program takes; a role reads its time limit and its fault there
     * @return the options
     * @throws IllegalArgumentException if a value is out of its range or options exclude each other; the message is one
     *     sentence that names the option and what is allowed
     */
    O toOptions(CommonOptions common);
}
