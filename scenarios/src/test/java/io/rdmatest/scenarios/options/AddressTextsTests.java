package io.rdmatest.scenarios.options;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AddressTextsTests {

    @ParameterizedTest
    @CsvSource({
        "fe80::1%eth0,fe80::1%eth0",
        "FE80::1%eth0,FE80::1%eth0",
        "fe90::1%eth0,fe90::1%eth0",
        "feBf::1%eth0,feBf::1%eth0",
        "fec0::1%eth0,fec0::1",
        "2001:db8::1%eth0,2001:db8::1",
        "192.0.2.1,192.0.2.1"
    })
    void aScopeStaysWithLinkLocalAddressesOnly(String text, String address) {
        assertThat(AddressTexts.withoutScope(text)).isEqualTo(address);
    }
}
