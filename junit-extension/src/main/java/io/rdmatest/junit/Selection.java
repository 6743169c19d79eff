package io.rdmatest.junit;

import java.lang.reflect.AnnotatedElement;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.platform.commons.support.AnnotationSupport;

/** Says which device is meant: that of the run, one by name, or that of a node of the fabric. */
record Selection(Kind kind, String name) {

    enum Kind {
        RUN,
        DEVICE,
        NODE
    }

    static final Selection OF_RUN = new Selection(Kind.RUN, "");

    static Selection device(String name) {
        return new Selection(Kind.DEVICE, name.strip());
    }

    static Selection node(String name) {
        return new Selection(Kind.NODE, name.strip());
    }

    /** Returns what the annotations of exactly this element say. */
    static Optional<Selection> on(AnnotatedElement element) {
        Optional<Selection> device =
                AnnotationSupport.findAnnotation(element, OnDevice.class).map(a -> device(a.value()));
        Optional<Selection> node =
                AnnotationSupport.findAnnotation(element, OnNode.class).map(a -> node(a.value()));
        if (device.isPresent() && node.isPresent()) {
            throw new ExtensionConfigurationException(
                    "@OnDevice and @OnNode on " + element + ": one place has one of the two");
        }
        return device.or(() -> node);
    }

    /** Names the annotation for messages. */
    @Override
    public String toString() {
        return switch (kind) {
            case RUN -> "the run's device";
            case DEVICE -> "@OnDevice(\"" + name + "\")";
            case NODE -> "@OnNode(\"" + name + "\")";
        };
    }
}
