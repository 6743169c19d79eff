package io.rdmatest.walk;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How many objects of each kind the kernel has on all devices, as rdma-resource(8) tells; the machine is the test's own. */
record KernelObjects(Map<String, Integer> counts) {

    private static final Pattern COUNT = Pattern.compile("\"(qp|cq|mr|pd|cm_id|srq)\":\\s*(\\d+)");

    static KernelObjects now() throws IOException, InterruptedException {
        Process process = new ProcessBuilder("rdma", "-j", "resource", "show")
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0 || !output.contains("\"qp\"")) {
            throw new IllegalStateException("rdma -j resource show says: " + output);
        }
        Map<String, Integer> counts = new TreeMap<>();
        Matcher matcher = COUNT.matcher(output);
        while (matcher.find()) {
            int ignored = counts.merge(matcher.group(1), Integer.parseInt(matcher.group(2)), Integer::sum);
        }
        return new KernelObjects(counts);
    }
}
