package io.rdmatest.peer;

/** Quoting for scripts of a POSIX shell (Shell Command Language, 2.2.2). */
public final class PosixShell {

    private PosixShell() {}

    /**
     * Quotes a text as one word, in which a shell expands nothing.
     *
     * @param text any text without NUL
     * @return the text between single quotes
     */
    public static String quote(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }
}
