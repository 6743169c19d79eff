package io.rdmatest.fabric.yaml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the files that settings name. Only the project's own modules may use it.
 *
 * <p>Maven runs each module's tests in the module's folder, but users type paths relative to the project's folder. So a relative
 * path is looked up in the parent folders, too, up to the root of the project. Files above the root belong to others.
 */
public final class YamlFiles {

    /** The nearest folder with one of these is the root of a project. */
    private static final List<String> ROOTS = List.of(".git", ".mvn", "settings.gradle", "settings.gradle.kts");

    /** A folder with one of these may be a module. The project continues upwards as long as the parent folder has one, too. */
    private static final List<String> BUILDS = List.of("pom.xml", "build.gradle", "build.gradle.kts");

    private static final int OTHERS_MAY_WRITE = 0002;
    private static final int ROOT = 0;

    private YamlFiles() {}

    /**
     * Finds a file in the working directory, or in one of the folders above it, up to the root of the project.
     *
     * @param text the value of the setting
     * @return the file; the path as it was given if there is none
     * @throws InvalidPathException if it is not a path
     * @throws IllegalArgumentException if the file is above the working directory and may be somebody else's; the message is
     *     one sentence with the cause and the cure
     */
    public static Path locate(String text) {
        return locate(text, workingDirectory());
    }

    static Path locate(String text, Path from) {
        Path given = Path.of(text);
        if (given.isAbsolute() || Files.exists(from.resolve(given))) {
            return given;
        }
        List<Path> folders = upwards(from);
        for (Path up : folders.subList(1, folders.size())) {
            Path file = up.resolve(given);
            if (Files.isRegularFile(file)) {
                return requireOwn(file, from);
            }
        }
        return given;
    }

    /**
     * Lists the folders of the project from a folder upwards: to the nearest one with {@code .git}, {@code .mvn} or
     * {@code settings.gradle}; without any, as long as the parent has a {@code pom.xml} or {@code build.gradle}, too. A folder
     * that every user may write to, or that another user owns, is not part of a project.
     *
     * @param from the folder to begin with
     * @return the folders, the nearest first; at least {@code from}
     */
    public static List<Path> upwards(Path from) {
        List<Path> own = new ArrayList<>(List.of(from));
        for (Path up = from.getParent(); up != null && refusal(up, from).isEmpty(); up = up.getParent()) {
            own.add(up);
        }
        for (int i = 0; i < own.size(); i++) {
            if (hasOne(own.get(i), ROOTS)) {
                return List.copyOf(own.subList(0, i + 1));
            }
        }
        int end = 0;
        while (end < own.size() && !hasOne(own.get(end), BUILDS)) {
            end++;
        }
        while (end < own.size() && hasOne(own.get(end), BUILDS)) {
            end++;
        }
        return hasOne(own.get(end - 1), BUILDS) ? List.copyOf(own.subList(0, end)) : List.of(from);
    }

    private static boolean hasOne(Path folder, List<String> names) {
        return names.stream().map(folder::resolve).anyMatch(Files::exists);
    }

    /** Returns the working directory. */
    public static Path workingDirectory() {
        return Path.of("").toAbsolutePath();
    }

    /**
     * Requires that no other user could have written a file. Neither the file nor its folder may be writable by all users. Both
     * must be owned by this user, by root, or by the owner of the folder that the search began in.
     *
     * @param file the file
     * @param from where the search began
     * @return the file
     * @throws IllegalArgumentException if it may be somebody else's; the message is one sentence with the cause and the cure
     */
    public static Path requireOwn(Path file, Path from) {
        for (Path each : List.of(file, file.toAbsolutePath().getParent())) {
            String refusal = refusal(each, from);
            if (!refusal.isEmpty()) {
                throw new IllegalArgumentException(file + " is not used, because " + refusal
                        + "; correct the owner and the permissions, or check the file and give its whole path");
            }
        }
        return file;
    }

    private static String refusal(Path path, Path from) {
        try {
            return refusal(path, owner(path), mode(path), List.of(owner(Path.of("/proc/self")), ROOT, owner(from)));
        } catch (IOException e) {
            return path + " can't be looked at: " + e;
        }
    }

    /** Returns why a file or folder may belong to another user; empty if it does not. */
    static String refusal(Path path, int owner, int mode, List<Integer> trusted) {
        if (!trusted.contains(owner)) {
            return path + " is owned by another user, with the number " + owner;
        }
        return (mode & OTHERS_MAY_WRITE) == 0 ? "" : "every user may write to " + path;
    }

    private static int owner(Path path) throws IOException {
        return (Integer) Files.getAttribute(path, "unix:uid");
    }

    private static int mode(Path path) throws IOException {
        return (Integer) Files.getAttribute(path, "unix:mode");
    }
}
