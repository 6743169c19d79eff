package io.rdmatest.peer;

/** What a line of a role is. */
public enum LineKind {
    /** A part of what the role prints for people, as a program does on its standard output. */
    PRINTED,
    /** What happens on the connection, as a program tells when it is to be talkative. */
    TRACED
}
