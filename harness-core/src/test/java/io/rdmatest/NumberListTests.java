package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumberListTests {

    @Test
    void readsTheListsOfSysfs() {
        assertThat(NumberList.parse("0")).hasToString("{0}");
        assertThat(NumberList.parse("0-3,8\n")).hasToString("{0, 1, 2, 3, 8}");
        assertThat(NumberList.parse("64-65,0")).hasToString("{0, 64, 65}");
        // A node without processors.
        assertThat(NumberList.parse("")).isEqualTo(NumberList.parse("\n"));
        assertThat(NumberList.parse("").isEmpty()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "x",
                "1,",
                ",1",
                "3-1",
                "-1",
                "1-",
                "1-2-3",
                "0x1",
                "2147483647",
                "1;2",
                "0-4294967295",
                "4294967295",
                "+3",
                "1-+3",
                "1 - 3"
            })
    void whatIsNoListIsQuoted(String list) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NumberList.parse(list))
                .withMessage("'" + list + "' is no list of numbers and ranges, such as 0-3,8");
    }
}
