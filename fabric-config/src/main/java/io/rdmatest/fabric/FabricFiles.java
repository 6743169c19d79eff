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
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Finds fabric files by name and by path. */
final class FabricFiles {

    private static final String SUFFIX = ".yaml";
    private static final List<String> FOLDERS = List.of("fabrics", "fabric-config/fabrics");

    private FabricFiles() {}

    static Fabric find(String nameOrPath) {
        if (nameOrPath.isBlank()) {
            throw new FabricException(FabricConfiguration.FABRIC + " is empty; " + hint());
        }
        if (nameOrPath.contains("/") || nameOrPath.endsWith(SUFFIX) || nameOrPath.endsWith(".yml")) {
            return read(path(nameOrPath), nameOrPath);
        }
        for (Path folder : folders()) {
            Path file = folder.resolve(nameOrPath + SUFFIX);
            if (Files.isRegularFile(file)) {
                return read(file, file.toString());
            }
        }
        String bundled = bundled().get(nameOrPath);
        if (bundled == null) {
            throw new FabricException("no fabric named '" + nameOrPath + "'; " + hint());
        }
        return FabricReader.read("bundled:" + nameOrPath + SUFFIX, bundled);
    }

    static List<String> names() {
        TreeSet<String> names = new TreeSet<>(bundled().keySet());
        for (Path folder : folders()) {
            names.addAll(stems(list(folder)));
        }
        return List.copyOf(names);
    }

    private static String hint() {
        return "available: " + String.join(", ", names()) + ", or the path of a YAML file (-D"
                + FabricConfiguration.FABRIC + "=lab/rack-42.yaml)";
    }

    private static Path path(String text) {
        try {
            return YamlFiles.locate(text);
        } catch (InvalidPathException e) {
            throw new FabricException("'" + text + "' is not a path: " + e.getReason());
        }
    }

    private static Fabric read(Path file, String shown) {
        if (!Files.exists(file)) {
            throw new FabricException(
                    "no fabric file '" + shown + "' (looked from " + workingDirectory() + " upwards); " + hint());
        }
        try {
            return FabricReader.read(shown, Files.readString(file));
        } catch (CharacterCodingException e) {
            throw new FabricException(shown + ": not text in UTF-8");
        } catch (IOException e) {
            throw new FabricException(shown + ": can't be read: " + e);
        }
    }

    private static Path workingDirectory() {
        return Path.of("").toAbsolutePath();
    }

    private static List<Path> folders() {
        return upwards()
                .flatMap(up -> FOLDERS.stream().map(up::resolve))
                .filter(Files::isDirectory)
                .toList();
    }

    private static Stream<Path> upwards() {
        Stream.Builder<Path> folders = Stream.builder();
        for (Path up = workingDirectory(); up != null; up = up.getParent()) {
            folders.add(up);
        }
        return folders.build();
    }

    private static List<Path> list(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(SUFFIX)).toList();
        } catch (IOException e) {
            // A folder that can't be listed offers no names; a file in it that is asked for says why.
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
            throw new UncheckedIOException("the bundled fabrics at " + auto + " can't be read", e);
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
