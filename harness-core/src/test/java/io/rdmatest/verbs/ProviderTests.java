package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Linker;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProviderTests {

    @ParameterizedTest
    @CsvSource({
        "/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so, mlx5",
        "/usr/lib64/libmlx5.so.1.24.44.0, mlx5",
        "/usr/lib64/libibverbs/libbnxt_re-rdmav57.so, bnxt_re",
        "libibverbs.so.1, ibverbs",
        "/opt/interposer.so, ''",
        "/usr/bin/java, ''",
        "'', ''"
    })
    void theNameIsThatOfTheLibrary(String path, String name) {
        assertThat(Provider.nameOf(path)).isEqualTo(name);
    }

    /** Nothing is known of it: it may enter the kernel. */
    @Test
    void aFunctionOfAnotherLibraryIsCalledAsUsual() {
        var function = Linker.nativeLinker().defaultLookup().findOrThrow("malloc");
        assertThat(Provider.postsInUserSpace(function)).isFalse();
        assertThat(Provider.pollsInUserSpace(function)).isFalse();
    }
}
