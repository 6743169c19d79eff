package io.rdmatest.junit.engine;

import io.rdmatest.junit.OnDevice;
import java.lang.reflect.AnnotatedElement;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.platform.commons.support.AnnotationSupport;

/** Says which device is meant: that of the run, one by name, or that of a node of the fabric. */
public record Selection(Kind kind, String name) {

    enum Kind {
        RUN,
        DEVICE,
        NODE
    }

    static final Selection OF_RUN = new Selection(Kind.RUN, "");

    public static Selection device(String name) {
        return new Selection(Kind.DEVICE, name.strip());
    }

    static Selection node(String name) {
        return new Selection(Kind.NODE, name.strip());
    }

    /** Returns the device or the node that has a name; null if neither has one. */
    static @Nullable Selection of(String device, String node) {
        return !device.isEmpty() ? device(device) : node.isEmpty() ? null : node(node);
    }

    /** Returns what the annotations of exactly this element say. */
    static Optional<Selection> on(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, OnDevice.class).map(on -> {
            if (on.value().isBlank() == on.node().isBlank()) {
                throw new ExtensionConfigurationException("@OnDevice on " + element + " names "
                        + (on.node().isBlank() ? "neither a device nor a node" : "both a device and a node")
                        + ": give one of the two");
            }
            return on.node().isBlank() ? device(on.value()) : node(on.node());
        });
    }

    /** Names the annotation for messages. */
    @Override
    public String toString() {
        return switch (kind) {
            case RUN -> "the run's device";
            case DEVICE -> "@OnDevice(\"" + name + "\")";
            case NODE -> "@OnDevice(node = \"" + name + "\")";
        };
    }
}
