package io.rdmatest.junit.engine;

import io.rdmatest.ReportKeys;
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
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * A known deviation of a device, from a user's file or from the file of its driver that comes with the project.
 *
 * @param source file and line
 * @param title the key, or the pattern of class and method
 * @param tests matches the key of a test, or its class and method
 * @param name matches the display name of an invocation
 * @param driver matches the whole name of the kernel driver
 * @param kernel accepts the kernel releases that have it
 * @param rdmaCore accepts the releases of rdma-core that have it
 * @param message matches a part of the expected failure's message; null if the test is not run
 * @param reason what the device does differently
 * @param link where more is to be read about it
 */
record Deviation(
        String source,
        String title,
        Pattern tests,
        Pattern name,
        Pattern driver,
        Predicate<Release> kernel,
        Predicate<Release> rdmaCore,
        @Nullable Pattern message,
        String reason,
        String link) {

    private static final String NONE = "none";

    /**
     * Returns the known deviations that concern a test on the device of its context: first those of the files that its
     * configuration names, in their order. They are read once in a run.
     */
    static List<Deviation> of(ExtensionContext context) {
        RunDevice device = RunDevice.of(context);
        if (device.failure().isPresent()) {
            return List.of();
        }
        record Known(List<Deviation> ofDevice) {}
        // Of each class, since a builder may name other files than the run does.
        record Key(String device, String files) {}
        String files =
                Configuration.of(context).value(RdmaConfiguration.DEVIATIONS).orElse("");
        List<Deviation> known = Life.ofRun(context)
                .provide(
                        new Key(device.name(), files),
                        Known.class,
                        () -> new Known(read(files, device.driver()).stream()
                                .filter(each -> each.isOf(device.driver(), device.kernel(), device.rdmaCore()))
                                .toList()))
                .ofDevice();
        if (known.isEmpty()) {
            return known;
        }
        Set<String> names = names(context);
        return known.stream()
                .filter(each -> each.concerns(names, context.getDisplayName()))
                .toList();
    }

    boolean isOf(String itsDriver, Release itsKernel, Release itsRdmaCore) {
        return driver.matcher(itsDriver).matches() && kernel.test(itsKernel) && rdmaCore.test(itsRdmaCore);
    }

    boolean concerns(Set<String> names, String displayName) {
        return names.stream().anyMatch(each -> tests.matcher(each).matches())
                && name.matcher(displayName).matches();
    }

    /** Returns whether the test is not run. */
    boolean isSkip() {
        return message == null;
    }

    /** Returns whether a failure is the known one. */
    boolean explains(Throwable failure) {
        return message != null
                && message.matcher(String.valueOf(failure.getMessage())).find();
    }

    /** Returns the reason with link and source. */
    String words() {
        return reason + " (" + link + "; " + source + ")";
    }

    Map<String, String> entry(String outcome) {
        Map<String, String> entry = new LinkedHashMap<>();
        entry.put(ReportKeys.DEVIATION, title);
        entry.put(ReportKeys.DEVIATION_OUTCOME, outcome);
        entry.put(ReportKeys.DEVIATION_REASON, reason);
        entry.put(ReportKeys.DEVIATION_LINK, link);
        entry.put(ReportKeys.DEVIATION_SOURCE, source);
        return entry;
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
                        + YamlFiles.workingDirectory() + " upwards); allowed: paths of YAML files with commas between"
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
        try (InputStream stream = Deviation.class.getResourceAsStream("/io/rdmatest/junit/deviations/" + file)) {
            return stream == null
                    ? List.of()
                    : DeviationReader.read(
                            "bundled:" + file, new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException("the bundled deviations of " + driver + " can't be read", e);
        }
    }

    /** Returns the keys of a test and of its classes, and its {@code package.Class#method}. */
    private static Set<String> names(ExtensionContext context) {
        Set<String> names = new LinkedHashSet<>();
        boolean hasMethod = false;
        for (ExtensionContext each = context;
                each != null;
                each = each.getParent().orElse(null)) {
            AnnotatedElement element = each.getElement().orElse(null);
            Optional<DeviationKey> key = AnnotationSupport.findAnnotation(element, DeviationKey.class);
            if (key.isPresent()) {
                names.add(checked(key.get().value(), element));
            }
            // A dynamic test has no method; the one that made it is further up.
            if (!hasMethod && element instanceof Method method) {
                hasMethod = names.add(each.getRequiredTestClass().getName() + "#" + method.getName());
            }
        }
        return names;
    }

    private static String checked(String key, @Nullable AnnotatedElement element) {
        if (!DeviationReader.KEY.matcher(key).matches()) {
            throw new ExtensionConfigurationException("@DeviationKey on " + element + ": \"" + key
                    + "\" is no key; allowed: lower-case letters, digits and hyphens");
        }
        return key;
    }
}
