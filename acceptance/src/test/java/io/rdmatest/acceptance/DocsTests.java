package io.rdmatest.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.rdmatest.ReportKeys;
import io.rdmatest.scenarios.runner.ScenarioRunner;
import io.rdmatest.scenarios.runner.WhatDiffers;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Holds the documentation against the code: a page for each annotation and each configuration key, no page without one, and
 * no Java on a page that is not compiled and run.
 *
 * <p>A fenced block of Java follows a line {@code <!-- code: SimpleClassName#region -->}; it is what stands between
 * {@code // begin region} and {@code // end region} in the test class of that name in a package {@code io.rdmatest.docs}.
 * {@code -Drdma.docs.update=true} writes the blocks anew.
 */
class DocsTests {

    private static final Pattern MARKER = Pattern.compile("<!-- code: (\\w+)#([\\w-]+) -->");
    private static final Pattern LINK = Pattern.compile("(?<!\\\\)\\[[^]\\n]*]\\(([^)\\s]+)\\)");
    private static final String FENCE = "```";

    /** The page whose blocks the build writes into files and runs, see the module {@code samples}. */
    private static final String QUICK_START = "docs/quick-start.md";

    private static final Path ROOT = root();

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.rdmatest");

    @Test
    void everyPublicAnnotationHasAPageThatNamesItsMembers() throws IOException {
        Set<String> names = new TreeSet<>();
        List<String> wrong = new ArrayList<>();
        for (JavaClass type : CLASSES) {
            // The module does not export its machinery.
            if (type.isAnnotation()
                    && type.getModifiers().contains(JavaModifier.PUBLIC)
                    && !type.getPackageName().equals("io.rdmatest.junit.engine")) {
                names.add(type.getSimpleName());
                Path page = ROOT.resolve("docs/annotations/" + type.getSimpleName() + ".md");
                if (!Files.exists(page)) {
                    wrong.add("there is no " + ROOT.relativize(page));
                    continue;
                }
                String text = Files.readString(page, UTF_8);
                for (Method member : type.reflect().getDeclaredMethods()) {
                    if (!text.contains("`" + member.getName() + "`")) {
                        wrong.add(ROOT.relativize(page) + " says nothing of `" + member.getName() + "`");
                    }
                }
            }
        }
        assertThat(names).contains("RdmaTest", "EachOptionLine");
        assertThat(wrong).isEmpty();
        assertThat(pages("annotations")).isEqualTo(names);
    }

    /** Keys of entries in reports, and settings by which ./qualify and the JVM of the scenarios find each other. */
    private static final Set<Class<?>> NOT_OF_USERS = Set.of(ReportKeys.class, ScenarioRunner.class, WhatDiffers.class);

    @Test
    void everyConfigurationKeyHasAPage() throws Exception {
        Set<String> keys = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            if (type.getModifiers().contains(JavaModifier.PUBLIC)
                    && NOT_OF_USERS.stream().noneMatch(type::isEquivalentTo)) {
                for (Field field : type.reflect().getDeclaredFields()) {
                    if (Modifier.isPublic(field.getModifiers())
                            && Modifier.isStatic(field.getModifiers())
                            && field.getType() == String.class
                            && field.get(null) instanceof String key
                            && key.startsWith("rdma.")) {
                        keys.add(key);
                    }
                }
            }
        }
        assertThat(keys).contains("rdma.timeout", "rdma.fabric", "rdma.report.directory", "rdma.stream.scale");
        assertThat(pages("configuration")).isEqualTo(keys);
    }

    @Test
    void everyPageIsInTheIndex() throws IOException {
        List<Path> linked = links(ROOT.resolve("docs/README.md")).stream()
                .map(target -> ROOT.resolve("docs").resolve(target).normalize())
                .toList();
        List<Path> missing = new ArrayList<>(markdown());
        missing.removeAll(linked);
        missing.removeAll(List.of(ROOT.resolve("docs/README.md"), ROOT.resolve("README.md")));
        assertThat(missing).as("pages that docs/README.md does not link to").isEmpty();
    }

    @Test
    void linksLeadToFiles() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path page : markdown()) {
            for (String target : links(page)) {
                if (!Files.exists(page.resolveSibling(target))) {
                    broken.add(ROOT.relativize(page) + " → " + target);
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    @Test
    void javaOnPagesIsCompiledAndRun() throws IOException {
        boolean update = Boolean.getBoolean("rdma.docs.update");
        List<String> wrong = new ArrayList<>();
        int blocks = 0;
        for (Path page : markdown()) {
            String name = ROOT.relativize(page).toString();
            List<String> lines = Files.readAllLines(page, UTF_8);
            List<String> updated = new ArrayList<>();
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                updated.add(line);
                if (!line.startsWith(FENCE + "java") || name.equals(QUICK_START)) {
                    continue;
                }
                int end = i + 1;
                while (!lines.get(end).equals(FENCE)) {
                    end++;
                }
                List<String> shown = lines.subList(i + 1, end);
                Matcher marker = MARKER.matcher(i == 0 ? "" : lines.get(i - 1));
                List<String> written = shown;
                if (!marker.matches()) {
                    wrong.add("%s:%d: no line <!-- code: Class#region --> stands before this block"
                            .formatted(name, i + 1));
                } else {
                    blocks++;
                    try {
                        written = region(marker.group(1), marker.group(2));
                        if (!written.equals(shown) && !update) {
                            wrong.add("%s:%d: differs from %s#%s; -Drdma.docs.update=true writes it anew"
                                    .formatted(name, i + 1, marker.group(1), marker.group(2)));
                        }
                    } catch (IllegalArgumentException e) {
                        wrong.add("%s:%d: %s".formatted(name, i + 1, e.getMessage()));
                    }
                }
                updated.addAll(written);
                updated.add(FENCE);
                i = end;
            }
            if (update && !updated.equals(lines)) {
                Files.writeString(page, String.join("\n", updated) + "\n", UTF_8);
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(blocks).as("blocks that were compared").isGreaterThan(10);
    }

    /** Returns the lines of a region, without the indentation that they share. */
    private static List<String> region(String type, String region) throws IOException {
        if (!type.endsWith("IT") && !type.endsWith("Tests")) {
            throw new IllegalArgumentException(type + " is run by nothing: its name has to end in IT or Tests");
        }
        List<String> source = null;
        for (Path module : modules()) {
            Path file = module.resolve("src/test/java/io/rdmatest/docs/" + type + ".java");
            if (Files.exists(file)) {
                source = Files.readAllLines(file, UTF_8);
            }
        }
        if (source == null) {
            throw new IllegalArgumentException("no module has a class io.rdmatest.docs." + type);
        }
        List<String> stripped = source.stream().map(String::strip).toList();
        int begin = stripped.indexOf("// begin " + region);
        int end = stripped.indexOf("// end " + region);
        if (begin < 0 || end < begin) {
            throw new IllegalArgumentException(type + " has no region '" + region + "'");
        }
        List<String> lines = source.subList(begin + 1, end).stream()
                // Regions may overlap.
                .filter(line -> !line.strip().matches("// (begin|end) [\\w-]+"))
                .toList();
        return String.join("\n", lines).stripIndent().lines().toList();
    }

    private static Set<String> pages(String folder) throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve("docs").resolve(folder))) {
            return files.map(file -> file.getFileName().toString().replaceFirst("\\.md$", ""))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static List<Path> markdown() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(Stream.of(ROOT.resolve("README.md")), files)
                    .filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }

    /** Returns where a page's links within the project lead, without anchors. */
    private static List<String> links(Path page) throws IOException {
        return LINK.matcher(Files.readString(page, UTF_8))
                .results()
                .map(link -> link.group(1).replaceFirst("#.*", ""))
                .filter(target -> !target.isEmpty() && !target.contains("://"))
                .toList();
    }

    private static List<Path> modules() throws IOException {
        try (Stream<Path> folders = Files.list(ROOT)) {
            return folders.filter(folder -> Files.exists(folder.resolve("pom.xml")))
                    .sorted()
                    .toList();
        }
    }

    private static Path root() {
        @Nullable Path folder = Path.of("").toAbsolutePath();
        while (folder != null && !Files.isDirectory(folder.resolve("fabric-config/rdma-jdk"))) {
            folder = folder.getParent();
        }
        return Optional.ofNullable(folder)
                .orElseThrow(() -> new IllegalStateException("the tests do not run within the project"));
    }
}
