package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.junit.RdmaExtension;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Run;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
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
            SEEN.add(Configuration.of(context).timeout().duration());
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

    @ExtendWith(Seeing.class)
    @RdmaTest(timeout = "7 s")
    @Timeout(3)
    static class TimeoutOfJUnitTestCase {
        @Test
        @Timeout(value = 5, unit = TimeUnit.MINUTES)
        void itsOwnIsNearer() {}
    }

    @ExtendWith(Seeing.class)
    @RdmaTest
    @Timeout(3)
    static class OnlyTimeoutOfJUnitTestCase {
        @Test
        void hasThatOfItsClass() {}

        @RdmaTest(timeout = "11 s")
        void hasANearerOne() {}
    }

    /** A limit of 30 s would end a test that JUnit was told to allow five minutes. */
    @Test
    void aTimeoutOfJUnitCountsWhereItIsTheNearest() {
        SEEN.clear();
        Run.withoutDevice(TimeoutOfJUnitTestCase.class).allSucceeded(1);
        assertThat(SEEN).containsExactly(Duration.ofMinutes(5));
        SEEN.clear();
        Run.withoutDevice(OnlyTimeoutOfJUnitTestCase.class);
        assertThat(SEEN).contains(Duration.ofSeconds(3), Duration.ofSeconds(11));
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
