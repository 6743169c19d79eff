package io.rdmatest.peer;

/** The kinds of lines that a role prints. */
public enum LineKind {
    /** Ordinary output, as a program writes it to its standard output. */
    PRINTED,
    /** Events on the connection, as a program prints them in verbose mode. */
    TRACED
}
