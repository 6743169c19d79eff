package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which of several builders counts. */
@Execution(ExecutionMode.SAME_THREAD)
class SettingsTests {

    private static final List<Duration> SEEN = new ArrayList<>();

    private static final class Seeing implements BeforeEachCallback {
        @Override
        public void beforeEach(ExtensionContext context) {
            SEEN.add(Configuration.of(context).timeout());
        }
    }

    private static RdmaExtension limit(int seconds) {
        return RdmaExtension.builder().timeout(Duration.ofSeconds(seconds)).build();
    }

    /** JUnit sorts fields by their names' hash codes. */
    @ExtendWith(Seeing.class)
    static class StaticFirstTestCase {
        @RegisterExtension
        static final RdmaExtension A = limit(7);

        @RegisterExtension
        final RdmaExtension b = limit(11);

        @Test
        void one() {}

        @Nested
        class Inner {
            @Test
            void two() {}
        }
    }

    @ExtendWith(Seeing.class)
    static class InstanceFirstTestCase {
        @RegisterExtension
        final RdmaExtension a = limit(11);

        @RegisterExtension
        static final RdmaExtension ZZ = limit(7);

        @Test
        void one() {}

        @Nested
        class Inner {
            @Test
            void two() {}
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {StaticFirstTestCase.class, InstanceFirstTestCase.class})
    void aBuilderOfTheInstanceComesBeforeAStaticOne(Class<?> fixture) {
        SEEN.clear();
        Run.withoutDevice(fixture).allSucceeded(2);
        assertThat(SEEN).containsExactly(Duration.ofSeconds(11), Duration.ofSeconds(11));
    }

    static class BelowTestCase extends StaticFirstTestCase {
        @RegisterExtension
        static final RdmaExtension BELOW = limit(13);
    }

    @Test
    void alsoBeforeTheStaticOneOfASubclass() {
        SEEN.clear();
        Run.withoutDevice(BelowTestCase.class).allSucceeded(2);
        assertThat(SEEN).first().isEqualTo(Duration.ofSeconds(11));
    }
}
