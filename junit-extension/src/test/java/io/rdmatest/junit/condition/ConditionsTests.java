package io.rdmatest.junit.condition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.SkipReason;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.Run;
import io.rdmatest.junit.engine.Release;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What conditions decide without a device. */
class ConditionsTests {

    @Test
    void comparesReleasesNumberByNumber() {
        assertThat(Release.leading("6.1.0-28-amd64")).hasToString("6.1.0");
        assertThat(Release.leading("unknown")).hasToString("0");
        assertThat(Release.parse("6.10")).isGreaterThan(Release.parse("6.9"));
        assertThat(Release.parse("6.1")).isEqualByComparingTo(Release.parse("6.1.0"));
        assertThat(Release.parse("6.1").isBefore(Release.parse("6.1.99"))).isFalse();
        assertThat(Release.parse("6.1").isBefore(Release.parse("6.2"))).isTrue();
        assertThat(Release.parse("6").isBefore(Release.parse("6.2"))).isFalse();
        assertThat(Release.parse("6.1.5").isBefore(Release.parse("6.1"))).isFalse();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Release.parse("6.x"))
                .withMessage("\"6.x\" is no release; allowed: one to three numbers with dots, for example 6.1");
    }

    @Test
    void tellsTheMtuThatIsTooSmall() {
        assertThat(RequiresDeviceCondition.smallMtu(1024, 0)).isEmpty();
        assertThat(RequiresDeviceCondition.smallMtu(1024, 1024)).isEmpty();
        assertThat(RequiresDeviceCondition.smallMtu(1024, 4096))
                .contains("its active MTU is 1024, and the test wants 4096");
    }

    private static final String STATUS = "Name:\tjava\nUid:\t1000\t1001\t1000\t1000\nCapEff:\t0000000000003000\n";

    @Test
    void readsTheRightsOfAProcess() {
        ProcessRights rights = ProcessRights.parse(
                STATUS, "Limit   Soft\nMax locked memory         65536                65536                bytes\n");
        assertThat(rights).isEqualTo(new ProcessRights(1001, 0x3000, 65536));
        assertThat(rights.has(Privilege.CAP_NET_ADMIN)).isTrue();
        assertThat(rights.lack(Privilege.CAP_NET_RAW)).isEmpty();
        assertThat(rights.lack(Privilege.ROOT)).contains("the effective user is 1001, and the test wants root");
        assertThat(rights.lack(Privilege.CAP_SYS_ADMIN))
                .contains("the process has no CAP_SYS_ADMIN (CapEff is 0000000000003000), and the test wants it");
        assertThat(rights.lockedMemoryLack(65536)).isEmpty();
        assertThat(rights.lockedMemoryLack(65537))
                .contains("the limit of locked memory (ulimit -l) is 64 KiB, and the test wants 65 KiB");
        ProcessRights unlimited = ProcessRights.parse(STATUS, "Max locked memory  unlimited  unlimited  bytes\n");
        assertThat(unlimited.lockedMemoryLack(Long.MAX_VALUE)).isEmpty();
        assertThat(new ProcessRights(0, 1 << 14, 1).lockedMemoryLack(1 << 30)).isEmpty();
    }

    @Test
    void aMessageBeginsWithItsClassOfReason() {
        String message = SkipReason.PEER_ABSENT.because("b: no answer");
        assertThat(SkipReason.classOf(message)).isEqualTo("peer absent");
        assertThat(SkipReason.detailOf(message)).isEqualTo("b: no answer");
        assertThat(SkipReason.classOf("Assumption failed: not selected: x")).isEqualTo("not selected");
        assertThat(SkipReason.detailOf("void a() is @Disabled ==> not permitted: no root"))
                .isEqualTo("no root");
        assertThat(SkipReason.classOf("void a() is @Disabled")).isEqualTo("without a class of reason");
    }

    static class PlainTestCase {
        @Test
        @RequiresKernel(min = "999")
        void future() {}

        @Test
        @RequiresKernel(min = "2.6", max = "998")
        void present() {}

        @Test
        @RequiresPrivilege(lockedMemory = "1B")
        void allowed() {}

        @Test
        @RequiresKernel
        void nothing() {}

        @Test
        @RequiresKernel(min = "six")
        void noRelease() {}

        @Test
        @RequiresKernel(min = "7", max = "6.5")
        void turned() {}

        @Test
        @RequiresPrivilege
        void noPrivilege() {}

        @Test
        @RequiresPrivilege(lockedMemory = "much")
        void noSize() {}
    }

    @Test
    void kernelAndPrivilegesNeedNoDeviceAndNoRdmaTest() {
        Run run = Run.of(PlainTestCase.class);
        assertThat(run.succeeded()).containsExactly("allowed()", "present()");
        assertThat(run.skipReason("future"))
                .isEqualTo("unsupported by the kernel: the kernel is " + System.getProperty("os.version")
                        + ", and the test wants 999 or newer");
        assertThat(cause(run, "nothing"))
                .contains("@RequiresKernel on method PlainTestCase.nothing: it names no release; give min or max");
        assertThat(cause(run, "noRelease"))
                .contains("@RequiresKernel(min) on method PlainTestCase.noRelease: \"six\" is no release");
        assertThat(cause(run, "turned"))
                .contains("@RequiresKernel(min) on method PlainTestCase.turned: \"7\" is newer than max \"6.5\"");
        assertThat(cause(run, "noPrivilege"))
                .contains("@RequiresPrivilege on method PlainTestCase.noPrivilege: it names no privilege");
        assertThat(cause(run, "noSize"))
                .contains("@RequiresPrivilege(lockedMemory) on method PlainTestCase.noSize: \"much\" is no size");
    }

    @RequiresKernel(min = "999")
    @Retention(RetentionPolicy.RUNTIME)
    @interface Future {}

    @RequiresKernel(min = "2.6", max = "998")
    @Retention(RetentionPolicy.RUNTIME)
    @interface Present {}

    @Future
    static class ComposedTestCase {
        @Test
        void one() {}
    }

    static class BelowComposedTestCase extends ComposedTestCase {}

    @RequiresKernel(min = "999")
    interface OfTheFuture {}

    static class ImplementingTestCase implements OfTheFuture {
        @Test
        void one() {}
    }

    static class BelowImplementingTestCase extends ImplementingTestCase {}

    @RequiresKernel(min = "999")
    static class DirectTestCase {
        @Test
        void one() {}
    }

    @RequiresKernel(min = "2.6")
    static class ReplacingTestCase extends DirectTestCase {}

    @Present
    static class BesideTestCase extends DirectTestCase {}

    @ParameterizedTest
    @ValueSource(
            classes = {
                BelowComposedTestCase.class,
                BelowImplementingTestCase.class,
                DirectTestCase.class,
                BesideTestCase.class
            })
    void whatASuperclassSaysHolds(Class<?> fixture) {
        assertThat(Run.of(fixture).skipReason("ConditionsTests$" + fixture.getSimpleName()))
                .startsWith("unsupported by the kernel: the kernel is ");
    }

    @Test
    void aClassOverridesTheAnnotationThatItInherits() {
        Run.of(ReplacingTestCase.class).allSucceeded(1);
    }

    private static String cause(Run run, String method) {
        Throwable failure = run.failure(method);
        return failure.getCause() == null
                ? failure.getMessage()
                : failure.getCause().getMessage();
    }

    @Test
    void refusesAnUnknownOpinionOfSkips() {
        Run run = Run.of(PlainTestCase.class, RdmaConfiguration.SKIPS, "maybe");
        assertThat(cause(run, "future")).isEqualTo("rdma.skips: \"maybe\" is not one of allow, fail, list");
    }
}
