package io.rdmatest.report.endless;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class EndlessScenarios {

    @Test
    void waits() throws IOException, InterruptedException {
        Process program = new ProcessBuilder("setsid", "sleep", "600").start();
        System.out.println(
                "JVM " + ProcessHandle.current().pid() + " and its program " + program.pid() + " are under way");
        if (new CountDownLatch(1).await(10, TimeUnit.MINUTES)) {
            throw new AssertionError("nobody counts");
        }
    }
}
