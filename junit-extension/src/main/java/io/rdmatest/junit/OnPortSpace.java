package io.rdmatest.junit;

import io.rdmatest.cm.PortSpace;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Choose the port space of a {@code CmId} parameter. Without it: {@link PortSpace#TCP}. */
@Target({ElementType.PARAMETER, ElementType.FIELD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface OnPortSpace {

    /**
     * Name the port space.
     *
     * @return the port space
     */
    PortSpace value();
}
