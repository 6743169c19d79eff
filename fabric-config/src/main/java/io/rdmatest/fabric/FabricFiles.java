package io.rdmatest.fabric;

import io.rdmatest.fabric.yaml.YamlFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.CharacterCodingException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Finds fabric files by name and by path. */
final class FabricFiles {

    private static final String SUFFIX = ".yaml";
    private static final List<String> FOLDERS = List.of("fabrics", "fabric-config/fabrics");

    private FabricFiles() {}

    static Fabric find(String nameOrPath) {
        return find(nameOrPath, YamlFiles.workingDirectory());
    }

    static Fabric find(String nameOrPath, Path from) {
        if (nameOrPath.isBlank()) {
            throw new FabricException(FabricConfiguration.FABRIC + " is empty; " + hint(from));
        }
        if (isPath(nameOrPath)) {
            return read(path(nameOrPath), nameOrPath, from);
        }
        Optional<Path> file = named(nameOrPath, from);
        String bundled = bundled().get(nameOrPath);
        if (bundled != null) {
            // In this repository the bundled fabrics are files, too.
            file.filter(own -> !text(own, own.toString()).equals(bundled)).ifPresent(own -> {
                throw new FabricException(
                        own + " has the name of a built-in fabric and other content, and no file takes the"
                                + " place of a built-in fabric; rename it, or select it by its path (-D"
                                + FabricConfiguration.FABRIC + "=" + own + ")");
            });
            return FabricReader.read("bundled:" + nameOrPath + SUFFIX, bundled);
        }
        if (file.isEmpty()) {
            throw new FabricException("no fabric named '" + nameOrPath + "'; " + hint(from));
        }
        try {
            Path own = YamlFiles.requireOwn(file.get(), from);
            return read(own, own.toString(), from);
        } catch (IllegalArgumentException e) {
            throw new FabricException(e.getMessage());
        }
    }

    /** Returns the file that a path or a name stands for, if there is one. A built-in fabric may have one as well. */
    static Optional<Path> file(String nameOrPath) {
        if (!isPath(nameOrPath)) {
            return named(nameOrPath, YamlFiles.workingDirectory());
        }
        try {
            return Optional.of(path(nameOrPath)).filter(Files::exists);
        } catch (FabricException e) {
            return Optional.empty();
        }
    }

    private static boolean isPath(String nameOrPath) {
        return nameOrPath.contains("/") || nameOrPath.endsWith(SUFFIX) || nameOrPath.endsWith(".yml");
    }

    private static Optional<Path> named(String name, Path from) {
        return folders(from)
                .map(folder -> folder.resolve(name + SUFFIX))
                .filter(Files::isRegularFile)
                .findFirst();
    }

    static List<String> names() {
        return names(YamlFiles.workingDirectory());
    }

    private static List<String> names(Path from) {
        TreeSet<String> names = new TreeSet<>(bundled().keySet());
        folders(from).forEach(folder -> names.addAll(stems(list(folder))));
        return List.copyOf(names);
    }

    private static String hint(Path from) {
        return "available: " + String.join(", ", names(from)) + ", or the path of a YAML file (-D"
                + FabricConfiguration.FABRIC + "=lab/rack-42.yaml)";
    }

    private static Path path(String text) {
        try {
            return YamlFiles.locate(text);
        } catch (InvalidPathException e) {
            throw new FabricException("'" + text + "' is not a path: " + e.getReason());
        } catch (IllegalArgumentException e) {
            throw new FabricException(e.getMessage());
        }
    }

    private static Fabric read(Path file, String shown, Path from) {
        if (!Files.exists(file)) {
            List<Path> looked = YamlFiles.upwards(from);
            throw new FabricException("no fabric file '" + shown + "' (looked in " + looked.getFirst()
                    + (looked.size() == 1 ? "" : " and upwards to " + looked.getLast()) + "); " + hint(from));
        }
        return FabricReader.read(shown, text(file, shown));
    }

    private static String text(Path file, String shown) {
        try {
            return Files.readString(file);
        } catch (CharacterCodingException e) {
            throw new FabricException(shown + ": not text in UTF-8");
        } catch (IOException e) {
            throw new FabricException(shown + ": can't be read: " + e);
        }
    }

    private static Stream<Path> folders(Path from) {
        return YamlFiles.upwards(from).stream()
                .flatMap(up -> FOLDERS.stream().map(up::resolve))
                .filter(Files::isDirectory);
    }

    private static List<Path> list(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(SUFFIX)).toList();
        } catch (IOException e) {
            // A folder that can't be listed supplies no names. The reason is reported when one of its files is read.
            return List.of();
        }
    }

    private static List<String> stems(Collection<Path> files) {
        return files.stream()
                .map(file -> file.getFileName().toString())
                .map(file -> file.substring(0, file.length() - SUFFIX.length()))
                .toList();
    }

    /** Reads the bundled files: name to text. They lie in a folder, or in the jar of this class. */
    private static Map<String, String> bundled() {
        URL auto = FabricFiles.class.getResource("fabrics/" + FabricConfiguration.DEFAULT_FABRIC + SUFFIX);
        if (auto == null) {
            return new TreeMap<>();
        }
        try {
            URLConnection connection = auto.openConnection();
            if (connection instanceof JarURLConnection jar) {
                Path archive = Path.of(URI.create(jar.getJarFileURL().toString()));
                try (FileSystem files = FileSystems.newFileSystem(archive)) {
                    return texts(files.getPath(jar.getEntryName()).getParent());
                }
            }
            return texts(Path.of(auto.toURI()).getParent());
        } catch (IOException e) {
            throw new UncheckedIOException("can't read the bundled fabrics at " + auto, e);
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Map<String, String> texts(Path folder) throws IOException {
        Map<String, String> texts = new TreeMap<>();
        for (Path file : list(folder)) {
            texts.put(stems(List.of(file)).getFirst(), Files.readString(file));
        }
        return texts;
    }
}
