package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.rdmatest.junit.condition.RequiresKernel;
import io.rdmatest.junit.params.EachSize;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JUnitVersionTests {

    private static final String CAME_WITH_5_13 =
            "org.junit.jupiter.api.extension.BeforeClassTemplateInvocationCallback";

    @RdmaTest
    static class OnClassTestCase {
        @RdmaTest
        void test() {}
    }

    static class OnMethodTestCase {
        @RdmaTest
        void test() {}
    }

    static class EachTestCase {
        @RdmaParameterizedTest
        void test(@EachSize(from = "1B", to = "2B") long size) {}
    }

    @RequiresKernel(min = "1")
    static class ConditionTestCase {
        @Test
        void test() {}
    }

    static class FieldTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder().build();

        @Test
        void test() {}
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                OnClassTestCase.class,
                OnMethodTestCase.class,
                EachTestCase.class,
                ConditionTestCase.class,
                FieldTestCase.class
            })
    void anOldOneIsRefusedInASentence(Class<?> fixture) throws ClassNotFoundException {
        ClassLoader old = new Old(CAME_WITH_5_13, "org.junit.jupiter.api.MediaType");
        Run run = Run.withoutDevice(old.loadClass(fixture.getName()));
        assertThat(run.failures()).singleElement().satisfies(failure -> {
            Throwable reason = failure instanceof ExceptionInInitializerError ? failure.getCause() : failure;
            assertThat(reason)
                    .isInstanceOf(ExtensionConfigurationException.class)
                    .hasMessage(message("junit-jupiter-api"));
        });
    }

    @ParameterizedTest
    @CsvSource({
        "org.junit.jupiter.api.MediaType, junit-jupiter-api",
        "org.junit.jupiter.params.ParameterInfo, junit-jupiter-params"
    })
    void theOldArtifactIsNamed(String missing, String artifact) throws ClassNotFoundException {
        Run run = Run.withoutDevice(new Old(missing).loadClass(OnClassTestCase.class.getName()));
        assertThat(run.failures()).extracting(Throwable::getMessage).containsExactly(message(artifact));
    }

    private static String message(String artifact) {
        return "rdmatest needs JUnit 5.14 or later, and " + artifact + " "
                + Test.class.getPackage().getImplementationVersion()
                + " is on the class path: import org.junit:junit-bom 5.14 or later before all other BOMs, or set the"
                + " property junit-jupiter.version under the parent of Spring Boot";
    }

    @Test
    void thisOneWillDo() {
        assertThatCode(JUnitVersion::new).doesNotThrowAnyException();
    }

    /** Has this project's classes anew, beside a JUnit that lacks some of its own. */
    private static final class Old extends ClassLoader {

        private final Set<String> missing;

        Old(String... missing) {
            super(Old.class.getClassLoader());
            this.missing = Set.copyOf(Arrays.asList(missing));
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (missing.contains(name)) {
                throw new ClassNotFoundException(name);
            }
            if (!name.startsWith("io.rdmatest.junit.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? define(name) : loaded;
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (file == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
