package io.rdmatest.junit.params;

import io.rdmatest.junit.OnDevice;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.engine.ParameterSource;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * Run a test on each device of this host. All that is injected into the test is of that device, unless an
 * {@link OnDevice @OnDevice} on the parameter says otherwise; a {@link io.rdmatest.fabric.FabricDevice} parameter tells which
 * it is. Devices without an active port are left out, and a report entry says so; if nothing is left, the test fails.
 *
 * <p>Stands on a parameter of an {@link RdmaParameterizedTest @RdmaParameterizedTest}, on such a method, or on a
 * {@code @ParameterizedTest} or {@code @ParameterizedClass}; several sources make the product of their values.
 * On an {@code @RdmaParameterizedTest} method it needs no parameter.
 *
 * <p>Conditions such as {@link RequiresDevice @RequiresDevice} beside it skip those invocations whose device does not meet
 * them. One on the class of such a method is asked of the class's own device as well, before any of its tests.
 */
@Target({ElementType.PARAMETER, ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ArgumentsSource(SourceArgumentsProvider.class)
@ParameterSource
@ParameterSource.OfDevice
public @interface EachDevice {

    /**
     * List the devices.
     *
     * @return names as {@link OnDevice#value()} has them, each of which has to be there; empty for all of this host
     */
    String[] value() default {};
}
