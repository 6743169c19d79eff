package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DeviceCapabilityTests {

    private static DeviceCapabilities device(AtomicCapability atomics, int srqs, long odp, Set<QpType> services) {
        DeviceAttributes attributes = new DeviceAttributes(
                "", 1, 2, 3, 4, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, atomics, 0, 0, 1, srqs, 1, 1, 0, 1, 1, 0);
        ExtendedDeviceAttributes extended = new ExtendedDeviceAttributes(odp, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        return new DeviceCapabilities(attributes, extended, services);
    }

    @Test
    void saysWhichAttributeShowsTheLack() {
        DeviceCapabilities poor = device(AtomicCapability.NONE, 0, 0, Set.of(QpType.RC));
        assertThat(poor.lack(DeviceCapability.ATOMICS)).contains("atomic_cap is IBV_ATOMIC_NONE");
        assertThat(poor.lack(DeviceCapability.GLOBAL_ATOMICS)).contains("atomic_cap is IBV_ATOMIC_NONE");
        assertThat(poor.lack(DeviceCapability.SHARED_RECEIVE_QUEUES)).contains("max_srq is 0");
        assertThat(poor.lack(DeviceCapability.MULTICAST)).contains("max_mcast_grp is 0");
        assertThat(poor.lack(DeviceCapability.MEMORY_WINDOWS)).contains("max_mw is 0");
        assertThat(poor.lack(DeviceCapability.UNRELIABLE_DATAGRAMS)).contains("ibv_create_qp refuses the type UD");
        assertThat(poor.lack(DeviceCapability.ON_DEMAND_PAGING))
                .contains("odp_caps.general_caps has no IBV_ODP_SUPPORT");
        assertThat(poor.lack(DeviceCapability.TAG_MATCHING)).contains("tm_caps.max_num_tags is 0");
    }

    @Test
    void findsWhatIsThere() {
        DeviceCapabilities rich = device(AtomicCapability.HCA, 5, 3, Set.of(QpType.RC, QpType.UD));
        assertThat(rich.has(DeviceCapability.ATOMICS)).isTrue();
        assertThat(rich.lack(DeviceCapability.GLOBAL_ATOMICS)).contains("atomic_cap is IBV_ATOMIC_HCA");
        assertThat(rich.has(DeviceCapability.SHARED_RECEIVE_QUEUES)).isTrue();
        assertThat(rich.has(DeviceCapability.UNRELIABLE_DATAGRAMS)).isTrue();
        assertThat(rich.has(DeviceCapability.UNRELIABLE_CONNECTIONS)).isFalse();
        assertThat(rich.has(DeviceCapability.ON_DEMAND_PAGING)).isTrue();
        assertThat(rich.has(DeviceCapability.IMPLICIT_ON_DEMAND_PAGING)).isTrue();
    }

    @Test
    void namesAreUniqueAndFitIntoFiles() {
        assertThat(Arrays.stream(DeviceCapability.values()).map(DeviceCapability::toString))
                .doesNotHaveDuplicates()
                .allMatch(name -> name.matches("[a-z0-9-]+"));
    }
}
