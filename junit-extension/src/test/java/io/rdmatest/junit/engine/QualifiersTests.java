package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmId;
import io.rdmatest.junit.Client;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.OnDevice;
import io.rdmatest.junit.Provided;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaExtension;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.RdmaTestExtension;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.ResourceScope;
import io.rdmatest.junit.Run;
import io.rdmatest.junit.Scoped;
import io.rdmatest.junit.Server;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import java.lang.reflect.Method;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What is wrong about a qualifier is said before a device is looked for. */
class QualifiersTests {

    @RdmaTest
    static class WrongValuesTestCase {
        @RdmaTest
        void noReceives(@ConnectionSpec(maxReceiveWr = 0) Connection connection) {}

        @RdmaTest
        void noSegments(@ConnectionSpec(maxSge = 0) QueuePair client, QueuePair server) {}

        @RdmaTest
        void negativeInline(@ConnectionSpec(maxInline = -2) Connection connection) {}

        @RdmaTest
        void oddAlignment(@Registered(alignment = "3B") MemoryRegion region) {}

        @RdmaTest
        void hugeAlignment(@Registered(alignment = "2GiB") MemoryRegion region) {}

        @RdmaTest
        void noSuchNumaNode(@Registered(numaNode = 4711) MemoryRegion region) {}

        @RdmaTest
        void negativeNumaNode(@Registered(numaNode = -2) MemoryRegion region) {}

        @RdmaTest
        void noDepth(@ConnectionSpec(maxSendWr = 0) Connection connection) {}

        @RdmaTest
        void tooManyRetries(@ConnectionSpec(rnrRetryCount = 8) Connection connection) {}

        @RdmaTest
        void tooLongAckTimeout(@ConnectionSpec(ackTimeout = 32) Connection connection) {}

        @RdmaTest
        void badTimeout(@ConnectionSpec(timeout = "soon") Connection connection) {}

        @RdmaTest
        @ConnectionSpec(mtu = Mtu.MTU_256)
        void mtuOfTheRoute(Connection connection) {}

        @RdmaTest
        void twoModes(@ConnectionSpec(mode = {ConnectionMode.RDMA_CM, ConnectionMode.RAW}) Connection connection) {}

        @RdmaTest
        void twoClients(@Client QueuePair one, @Client QueuePair other) {}

        @RdmaTest
        void bothSides(@Client @Server QueuePair one, QueuePair other) {}

        @RdmaTest
        void sideOfAConnection(@Server Connection connection) {}

        @RdmaTest
        void wrongSecond(MemoryRegion first, @Registered(size = "0") MemoryRegion second) {}
    }

    @Test
    void sayWhatIsAllowed() {
        Run run = Run.withoutDevice(WrongValuesTestCase.class);
        assertThat(run.failure("noReceives"))
                .hasMessageContaining("@ConnectionSpec(maxReceiveWr)")
                .hasMessageContaining("is 0, and must be at least 1");
        assertThat(run.failure("noSegments"))
                .hasMessageContaining("@ConnectionSpec(maxSge) for parameter client of WrongValuesTestCase.noSegments");
        assertThat(run.failure("twoClients"))
                .hasMessageContaining(
                        "parameter one of WrongValuesTestCase.twoClients is one of the two sides of a connection:"
                                + " annotate one with @Client and the other with @Server");
        assertThat(run.failure("bothSides"))
                .hasMessageContaining("annotate one with @Client and the other with @Server");
        assertThat(run.failure("sideOfAConnection"))
                .hasMessageContaining("@Server belongs on a QueuePair parameter, and parameter connection of");
        assertThat(run.failure("negativeInline")).hasMessageContaining("is -2, and must be at least 0");
        assertThat(run.failure("oddAlignment"))
                .hasMessageContaining("@Registered(alignment) on parameter region of WrongValuesTestCase.oddAlignment")
                .hasMessageContaining("power of two from 1 to 1073741824 bytes, not 3");
        assertThat(run.failure("hugeAlignment")).hasMessageContaining("not 2147483648");
        assertThat(run.failure("noSuchNumaNode"))
                .hasMessageContaining("@Registered(numaNode) on parameter region")
                .hasMessageContaining("NUMA node");
        assertThat(run.failure("negativeNumaNode")).hasMessageContaining("at least 0, not -2");
        assertThat(run.failure("noDepth"))
                .hasMessageContaining(
                        "@ConnectionSpec(maxSendWr) for parameter connection of WrongValuesTestCase.noDepth")
                .hasMessageContaining("is 0, and must be at least 1");
        assertThat(run.failure("tooManyRetries"))
                .hasMessageContaining("(rnrRetryCount)")
                .hasMessageContaining("0 to 7");
        assertThat(run.failure("tooLongAckTimeout")).hasMessageContaining("0 to 31");
        assertThat(run.failure("badTimeout"))
                .hasMessageContaining("@ConnectionSpec(timeout)")
                .hasMessageContaining("\"soon\" is no duration");
        assertThat(run.failure("mtuOfTheRoute"))
                .hasMessageContaining("@ConnectionSpec(mtu)")
                .hasMessageContaining("EXTERNAL_QP and RAW");
        assertThat(run.failure("twoModes"))
                .hasMessageContaining("@ConnectionSpec(mode)")
                .hasMessageContaining("2 modes");
        assertThat(run.failure("wrongSecond"))
                .hasMessageContaining("parameter second")
                .hasMessageContaining("\"0\"");
        assertThat(run.succeeded()).isEmpty();
    }

    @RdmaTest
    static class MisplacedTestCase {
        @RdmaTest
        void onText(@OnDevice("rxe0") String text) {}

        @RdmaTest
        void onId(@OnDevice("rxe0") CmId id) {}

        @RdmaTest
        void connectedMemory(@ConnectionSpec MemoryRegion region) {}

        @RdmaTest
        void scopedText(@Scoped(ResourceScope.RUN) String text) {}

        @RdmaTest
        void deviceAndNode(@OnDevice(value = "rxe0", node = "a") MemoryRegion region) {}

        @RdmaTest
        void neitherDeviceNorNode(@OnDevice MemoryRegion region) {}
    }

    @Test
    void belongOnTheirTypes() {
        Run run = Run.withoutDevice(MisplacedTestCase.class);
        assertThat(run.failure("onText")).hasMessageContaining("@OnDevice belongs on a ");
        assertThat(run.failure("onId"))
                .hasMessageContaining("@OnDevice belongs on a ")
                .hasMessageContaining("is a CmId");
        assertThat(run.failure("connectedMemory"))
                .hasMessageContaining("@ConnectionSpec belongs on a Connection or QueuePair parameter");
        assertThat(run.failure("scopedText")).hasMessageContaining("@Scoped belongs on a resource");
        assertThat(run.failure("deviceAndNode")).hasMessageContaining("names both a device and a node");
        assertThat(run.failure("neitherDeviceNorNode")).hasMessageContaining("names neither a device nor a node");
    }

    @RdmaTest
    static class FinalFieldTestCase {
        @Provided
        @SuppressWarnings("ImmutableMemberModifier")
        private final MemoryRegion region = null;

        @RdmaTest
        void any() {}
    }

    @RdmaTest
    static class FieldOfNoResourceTestCase {
        @Provided
        String text;

        @RdmaTest
        void any() {}
    }

    @RdmaTest
    static class FieldWithoutProvidedTestCase {
        @Registered(size = "1MiB")
        MemoryRegion region;

        @RdmaTest
        void any() {}
    }

    @RdmaTest
    static class ScopedFieldWithoutProvidedTestCase {
        @Scoped(ResourceScope.CLASS)
        MemoryRegion region;

        @RdmaTest
        void any() {}
    }

    @RdmaTest
    static class WrongFieldTestCase {
        @Provided
        @Registered(size = "1 mile")
        MemoryRegion region;

        @RdmaTest
        void any() {}
    }

    @Test
    void fieldsAreNamed() {
        assertThat(Run.withoutDevice(FinalFieldTestCase.class).failure("any"))
                .hasMessageContaining("@Provided on field FinalFieldTestCase.region: the field is final");
        assertThat(Run.withoutDevice(FieldOfNoResourceTestCase.class).failure("any"))
                .hasMessageContaining("@Provided on field FieldOfNoResourceTestCase.text: no resource is a String");
        assertThat(Run.withoutDevice(FieldWithoutProvidedTestCase.class).failure("any"))
                .hasMessageContaining("@Registered on field FieldWithoutProvidedTestCase.region does nothing without");
        assertThat(Run.withoutDevice(ScopedFieldWithoutProvidedTestCase.class).failure("any"))
                .hasMessageContaining(
                        "@Scoped on field ScopedFieldWithoutProvidedTestCase.region does nothing without");
        assertThat(Run.withoutDevice(WrongFieldTestCase.class).failure("any"))
                .hasMessageContaining("@Registered(size) on field WrongFieldTestCase.region: \"1 mile\" is no size");
    }

    @Test
    void optionsRefuseTheSame() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> QueuePairOptions.of(QpType.RC).maxSge(0))
                .withMessage("maxSge is 0, and must be at least 1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> QueuePairOptions.of(QpType.RC).maxInline(-1))
                .withMessage("maxInline is -1, and must be at least 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> QueuePairOptions.of(QpType.RC).depth(0, 1))
                .withMessage("maxSendWr is 0, and must be at least 1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ConnectionOptions.defaults().retries(8, 0))
                .withMessage("retryCount is 8, and must be 0 to 7");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RdmaExtension.builder().timeout(Duration.ZERO))
                .withMessageContaining("out of range");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RdmaExtension.builder().configuration("junit.x", "1"))
                .withMessageContaining("\"junit.x\" is no key that a builder can set; it can set rdma.audit, ");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RdmaExtension.builder().configuration("rdma.scenario.server", "b"))
                .withMessageContaining("\"rdma.scenario.server\" is no key that a builder can set");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RdmaExtension.builder().device(" "))
                .withMessage("device is blank");
    }

    @ExtendWith(RdmaTestExtension.class)
    static class NobodyAsksTestCase {
        private static final RdmaExtension UNREGISTERED =
                RdmaExtension.builder().build();

        @Test
        void onAnotherThread() throws Exception {
            Throwable[] thrown = new Throwable[1];
            Thread thread = new Thread(() -> {
                try {
                    RdmaResources ignored = UNREGISTERED.resources();
                } catch (IllegalStateException e) {
                    thrown[0] = e;
                }
            });
            thread.start();
            thread.join();
            assertThat(thrown[0]).hasMessageContaining("other threads use what resources() returned there");
        }
    }

    @Test
    void programmaticResourcesNeedATest() {
        assertThat(Run.withoutDevice(NobodyAsksTestCase.class).succeeded()).hasSize(1);
    }

    /** Never run: its methods are looked at. */
    private static final class Sides {
        void unnamed(QueuePair client, QueuePair server) {}

        void named(@Server QueuePair server, @Client QueuePair client) {}

        void oneNamed(@Server QueuePair server, MemoryRegion region, QueuePair client) {}

        void otherNamed(QueuePair server, @Client QueuePair client) {}

        void asUsual(@Client QueuePair client, QueuePair server) {}
    }

    @Test
    void theFirstOfTwoQueuePairsIsTheClientUnlessAnAnnotationSaysOtherwise() {
        for (Method method : Sides.class.getDeclaredMethods()) {
            for (int i = 0; i < method.getParameterCount(); i++) {
                Site site = Site.of(method, i);
                if (site.type() == QueuePair.class) {
                    assertThat(Qualifiers.isClient(site))
                            .as(site.where())
                            .isEqualTo(site.name().equals("client"));
                }
            }
        }
    }
}
