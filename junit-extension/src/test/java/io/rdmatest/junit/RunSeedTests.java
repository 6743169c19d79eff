package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;

@ResourceLock(Resources.SYSTEM_PROPERTIES)
class RunSeedTests {

    private String before;

    @BeforeEach
    void keepWhatIsSet() {
        before = System.getProperty(RunSeed.PROPERTY, "");
    }

    @AfterEach
    void setItAgain() {
        System.setProperty(RunSeed.PROPERTY, before);
    }

    @Test
    void isWhatIsSetOrElseOneForTheWholeJvm() {
        System.setProperty(RunSeed.PROPERTY, " -7 ");
        assertThat(RunSeed.get()).isEqualTo(-7);

        System.setProperty(RunSeed.PROPERTY, "");
        assertThat(RunSeed.get()).isBetween(1L, 999_999L).isEqualTo(RunSeed.get());
    }

    @Test
    void whatIsNoNumberIsAnErrorThatNamesTheKey() {
        System.setProperty(RunSeed.PROPERTY, "soon");

        assertThatThrownBy(RunSeed::get)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("rdma.run.seed=soon: not a whole number");
    }
}
