package io.rdmatest.junit.engine;

import io.rdmatest.fabric.yaml.YamlFiles;
import io.rdmatest.junit.DeviationKey;
import io.rdmatest.junit.RdmaConfiguration;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * The deviations that are known of a device: from the files that the configuration of the test names and then the project's
 * own, each list of files read once in a run.
 */
final class Deviations {

    private static final String NONE = "none";

    private final List<Deviation> known;

    private Deviations(List<Deviation> known) {
        this.known = known;
    }

    /** Returns those of the context's device; none without a device. */
    static Deviations of(ExtensionContext context) {
        RunDevice device = RunDevice.of(context);
        if (device.failure().isPresent()) {
            return new Deviations(List.of());
        }
        // Of each class, since a builder may name other files than the run does.
        record Key(String device, String files) {}
        String files =
                Configuration.of(context).value(RdmaConfiguration.DEVIATIONS).orElse("");
        return Life.ofRun(context)
                .provide(
                        new Key(device.name(), files),
                        Deviations.class,
                        () -> new Deviations(read(files, device.driver()).stream()
                                .filter(deviation -> deviation.isOf(device.platform()))
                                .toList()));
    }

    private static List<Deviation> read(String files, String driver) {
        if (files.equals(NONE)) {
            return List.of();
        }
        List<Deviation> all = new ArrayList<>();
        for (String file : files.isEmpty() ? new String[0] : files.split(",", -1)) {
            all.addAll(readFile(file.strip()));
        }
        all.addAll(bundled(driver));
        return all;
    }

    private static List<Deviation> readFile(String name) {
        String what = RdmaConfiguration.DEVIATIONS + ": '" + name + "' ";
        try {
            Path path = YamlFiles.locate(name);
            if (name.isEmpty() || !Files.isRegularFile(path)) {
                throw new ExtensionConfigurationException(what + "is no file (looked from "
                        + Path.of("").toAbsolutePath() + " upwards); allowed: paths of YAML files with commas between"
                        + " them, or none");
            }
            return DeviationReader.read(name, Files.readString(path));
        } catch (InvalidPathException e) {
            throw new ExtensionConfigurationException(what + "is not a path: " + e.getReason(), e);
        } catch (IllegalArgumentException e) {
            throw new ExtensionConfigurationException(RdmaConfiguration.DEVIATIONS + ": " + e.getMessage(), e);
        } catch (CharacterCodingException e) {
            throw new ExtensionConfigurationException(what + "is not text in UTF-8", e);
        } catch (IOException e) {
            throw new ExtensionConfigurationException(what + "can't be read: " + e, e);
        }
    }

    /** Reads what the project knows of a driver; nothing if it has no file of its name. */
    static List<Deviation> bundled(String driver) {
        String file = driver + ".yaml";
        try (InputStream stream = Deviations.class.getResourceAsStream("/io/rdmatest/junit/deviations/" + file)) {
            return stream == null
                    ? List.of()
                    : DeviationReader.read(
                            "bundled:" + file, new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException("the bundled deviations of " + driver + " can't be read", e);
        }
    }

    /** Returns the deviations that concern a test, in the order of the files. */
    List<Deviation> concerning(ExtensionContext context) {
        if (known.isEmpty()) {
            return List.of();
        }
        Deviation.Subject subject = subject(context);
        return known.stream().filter(deviation -> deviation.concerns(subject)).toList();
    }

    private static Deviation.Subject subject(ExtensionContext context) {
        Set<String> keys = new LinkedHashSet<>();
        String test = "";
        Optional<ExtensionContext> current = Optional.of(context);
        while (current.isPresent()) {
            ExtensionContext here = current.get();
            AnnotatedElement element = here.getElement().orElse(null);
            Optional<DeviationKey> key = AnnotationSupport.findAnnotation(element, DeviationKey.class);
            key.ifPresent(annotation -> keys.add(checked(annotation, here)));
            // A dynamic test has no method; the one that made it is further up.
            if (test.isEmpty() && element instanceof Method method) {
                test = here.getRequiredTestClass().getName() + "#" + method.getName();
            }
            current = here.getParent();
        }
        return new Deviation.Subject(keys, test, context.getDisplayName());
    }

    private static String checked(DeviationKey annotation, ExtensionContext context) {
        if (!DeviationReader.isKey(annotation.value())) {
            throw new ExtensionConfigurationException("@DeviationKey on "
                    + context.getElement().map(Object::toString).orElse("") + ": \"" + annotation.value()
                    + "\" is no key; allowed: lower-case letters, digits and hyphens");
        }
        return annotation.value();
    }
}
