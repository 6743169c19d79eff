package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.junit.params.EachConnectionMode;
import io.rdmatest.junit.params.EachMtu;
import io.rdmatest.junit.params.EachQpType;
import io.rdmatest.junit.params.EachSize;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import io.rdmatest.verbs.QpType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.AnnotationBasedArgumentsProvider;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.params.support.ParameterDeclarations;

@Execution(ExecutionMode.SAME_THREAD) // they share what the fixtures have seen
class SourcesTests {

    private static final List<String> SEEN = new ArrayList<>();

    private static List<String> seen(Class<?> fixture) {
        SEEN.clear();
        Run run = Run.withoutDevice(fixture);
        assertThat(run.results().allEvents().failed().stream().map(Object::toString))
                .isEmpty();
        return SEEN;
    }

    static class OnTheMethodTestCase {
        @RdmaParameterizedTest
        @EachSize(from = "64B", to = "1KiB", factor = 4)
        void sizes(TestInfo info, RdmaReport report, long size) {
            report.parameter("size", Long.toString(size));
            SEEN.add(info.getDisplayName());
            assertThat(info.getTags()).containsExactly(RdmaTest.TAG);
        }
    }

    @Test
    void serveTheFirstFittingParameter() {
        assertThat(seen(OnTheMethodTestCase.class))
                .containsExactly("[1] size = 64 B", "[2] size = 256 B", "[3] size = 1 KiB");
    }

    static class ProductTestCase {
        @RdmaParameterizedTest
        void product(
                @EachQpType({QpType.RC, QpType.UD}) QpType type,
                RdmaReport report,
                @EachSize(values = {"1B", "4097"}) int size) {
            report.parameter("size", Integer.toString(size));
            SEEN.add(type + " " + size);
        }
    }

    @Test
    void makeTheProduct() {
        assertThat(seen(ProductTestCase.class)).containsExactlyInAnyOrder("RC 1", "RC 4097", "UD 1", "UD 4097");
    }

    @Retention(RetentionPolicy.RUNTIME)
    @ArgumentsSource(ColoursProvider.class)
    @interface Colours {
        String[] value();
    }

    static final class ColoursProvider extends AnnotationBasedArgumentsProvider<Colours> {
        @Override
        protected Stream<? extends Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context, Colours annotation) {
            assertThat(parameters.getFirst().orElseThrow().getParameterName()).contains("colour");
            return Stream.of(annotation.value()).map(Arguments::of);
        }
    }

    static class WithOthersTestCase {
        @RdmaParameterizedTest
        @ValueSource(ints = {1, 2})
        void values(@EachSize(values = {"8B", "16B"}) long size, long count, RdmaReport report) {
            SEEN.add("values " + count + " " + size);
        }

        @RdmaParameterizedTest
        @CsvSource({"RC, 1", "UC, 2"})
        void rows(QpType type, RdmaReport report, @EachSize(values = "8B") long size, int count) {
            SEEN.add("rows " + type + " " + count + " " + size);
        }

        @RdmaParameterizedTest
        @EnumSource(names = "UD")
        @EachSize(values = "8B")
        void inferred(QpType type, long size) {
            SEEN.add("inferred " + type + " " + size);
        }

        @RdmaParameterizedTest
        @MethodSource("words")
        void methods(@EachSize(values = "8B") long size, String word) {
            SEEN.add("methods " + word + " " + size);
        }

        static Stream<String> words() {
            return Stream.of("a", "b");
        }

        @RdmaParameterizedTest
        @Colours({"red", "blue"})
        void own(String colour, @EachQpType(QpType.RC) QpType type) {
            SEEN.add("own " + colour + " " + type);
        }
    }

    @Test
    void makeTheProductWithOtherSources() {
        assertThat(seen(WithOthersTestCase.class))
                .containsExactlyInAnyOrder(
                        "values 1 8",
                        "values 2 8",
                        "values 1 16",
                        "values 2 16",
                        "rows RC 1 8",
                        "rows UC 2 8",
                        "inferred UD 8",
                        "methods a 8",
                        "methods b 8",
                        "own red RC",
                        "own blue RC");
    }

    @RdmaTest
    static class JunitsOwnTestCase {
        @ParameterizedTest(name = "{0}, {1}")
        @EachSize(values = {"8B", "16B"})
        @EachQpType({QpType.RC, QpType.UC})
        void both(long size, QpType type, RdmaReport report) {
            SEEN.add(size + " " + type);
        }

        @ParameterizedTest
        @EachSize(from = "1B", to = "3B")
        void one(long size, @EachConnectionMode(ConnectionMode.RAW) ConnectionMode mode) {
            SEEN.add(size + " " + mode);
        }
    }

    @Test
    void serveParameterizedTests() {
        assertThat(seen(JunitsOwnTestCase.class))
                .containsExactlyInAnyOrder("8 RC", "8 UC", "16 RC", "16 UC", "1 RAW", "2 RAW", "3 RAW");
    }

    @RdmaTest
    @ParameterizedClass
    @EachSize(values = {"8B", "16B"})
    @EachQpType({QpType.RC, QpType.UC})
    static class ClassTestCase {
        private final long size;
        private final QpType type;

        ClassTestCase(long size, QpType type, RdmaReport report) {
            this.size = size;
            this.type = type;
        }

        @RdmaTest
        void one(RdmaReport report) {
            SEEN.add(size + " " + type);
        }
    }

    @RdmaTest
    @ParameterizedClass
    @EachSize(values = {"8B", "16B"})
    static class ClassWithFieldTestCase {
        @Parameter
        long size;

        ClassWithFieldTestCase(RdmaReport report) {
            report.parameter("by", "constructor");
        }

        @RdmaTest
        void one() {
            SEEN.add("field " + size);
        }
    }

    @Test
    void serveParameterizedClasses() {
        assertThat(seen(ClassTestCase.class)).containsExactlyInAnyOrder("8 RC", "8 UC", "16 RC", "16 UC");
        assertThat(seen(ClassWithFieldTestCase.class)).containsExactly("field 8", "field 16");
    }

    @RdmaTest
    static class WrongTestCase {
        @RdmaParameterizedTest
        void noSource(RdmaReport report) {}

        @RdmaParameterizedTest
        @EachSize(from = "64B", to = "1KiB")
        void nobodyTakesIt(String text) {}

        @RdmaParameterizedTest
        void wrongType(@EachQpType long size) {}

        @RdmaParameterizedTest
        void twoSources(@EachSize(values = "1B") @EachMtu int size) {}

        @RdmaParameterizedTest
        void backwards(@EachSize(from = "1KiB", to = "64B") long size) {}

        @RdmaParameterizedTest
        void onlyFrom(@EachSize(from = "1KiB") long size) {}

        @RdmaParameterizedTest
        void standsStill(@EachSize(from = "1B", to = "2B", factor = 1) long size) {}

        @RdmaParameterizedTest
        void tooLarge(@EachSize(values = "2GiB") int size) {}

        @RdmaParameterizedTest
        void noSize(@EachSize(values = "big") long size) {}

        @RdmaTest
        void single(@EachSize(values = "1B") long size) {}

        @ParameterizedTest
        @EachSize(values = "1B")
        void notFirst(String text, long size) {}

        @ParameterizedTest
        @EachConnectionMode
        void noParameter(Connection connection) {}
    }

    @Test
    void sayWhatIsWrong() {
        Run run = Run.withoutDevice(WrongTestCase.class);
        assertThat(run.failure("noSource")).hasMessageContaining("WrongTestCase.noSource has no source");
        assertThat(run.failure("nobodyTakesIt"))
                .hasMessageContaining("@EachSize on method WrongTestCase.nobodyTakesIt needs a parameter of the type");
        assertThat(run.failure("wrongType"))
                .hasMessageContaining("@EachQpType on parameter size of WrongTestCase.wrongType")
                .hasMessageContaining("the parameter is a long");
        assertThat(run.failure("twoSources")).hasMessageContaining("a parameter takes its values from one source");
        assertThat(run.failure("backwards"))
                .hasMessageContaining("@EachSize(to) on parameter size of WrongTestCase.backwards")
                .hasMessageContaining("64B is less than from, 1KiB");
        assertThat(run.failure("onlyFrom")).hasMessageContaining("@EachSize(to)");
        assertThat(run.failure("standsStill")).hasMessageContaining("is 1, and must be at least 2");
        assertThat(run.failure("tooLarge")).hasMessageContaining("2147483648 B does not fit an int");
        assertThat(run.failure("noSize")).hasMessageContaining("\"big\" is no size");
        assertThat(run.failure("single"))
                .hasMessageContaining("parameter size of WrongTestCase.single")
                .hasMessageContaining("declare it with @RdmaParameterizedTest");
        assertThat(run.failure("notFirst")).hasMessageContaining("come first");
        assertThat(run.failure("noParameter"))
                .hasMessageContaining("@EachConnectionMode")
                .hasMessageContaining("needs a parameter");
        assertThat(run.succeeded()).isEmpty();
    }
}
