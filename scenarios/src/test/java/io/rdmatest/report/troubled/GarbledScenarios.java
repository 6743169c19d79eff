package io.rdmatest.report.troubled;

import io.rdmatest.report.run.ReportConfiguration;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class GarbledScenarios {

    /** As when two threads write at once. */
    @Test
    @Order(1)
    void garbles() {
        System.out.println("\n" + ReportConfiguration.PROGRESS_PREFIX + "{\"event\":\"ENT and what another one writes");
        System.out.println("\n" + ReportConfiguration.PROGRESS_PREFIX + "null");
        System.out.flush();
    }

    @Test
    @Order(2)
    void isShownAllTheSame() {}
}
