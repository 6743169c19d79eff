package io.rdmatest.peer;

/** What a script for a POSIX shell is written with (Shell Command Language, 2.2.2). */
public final class PosixShell {

    private PosixShell() {}

    /**
     * Quotes a text, so that a shell takes it for one word and expands nothing in it.
     *
     * @param text any text without NUL
     * @return the text between single quotes
     */
    public static String quote(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }
}
