package io.rdmatest.junit;

import java.io.IOException;

/**
 * A soft-RoCE device beside that of the machine, on a network interface of its own; as root.
 *
 * <p>librdmacm keeps a device open that it has used once, and the kernel removes no device that is open: closing takes its
 * port down, which is enough for no test to choose it, and what removes it is left waiting for the JVM's end.
 */
public final class SecondDevice implements AutoCloseable {

    public static final String NAME = "rxe1";
    public static final String ADDRESS = "198.51.100.7";
    public static final String INTERFACE = "second0";

    public SecondDevice() throws IOException, InterruptedException {
        run("ip", "link", "add", INTERFACE, "type", "dummy");
        Runtime.getRuntime().addShutdownHook(new Thread(SecondDevice::remove));
        run("ip", "address", "add", ADDRESS + "/24", "dev", INTERFACE);
        run("ip", "link", "set", INTERFACE, "up");
        run("rdma", "link", "add", NAME, "type", "rxe", "netdev", INTERFACE);
    }

    private static void remove() {
        try {
            Process ignored = new ProcessBuilder(
                            "sh", "-c", "rdma link delete " + NAME + "; ip link delete " + INTERFACE)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            System.err.println(NAME + " stays: " + e.getMessage());
        }
    }

    private static void run(String... command) throws IOException, InterruptedException {
        String ignored = Command.run(command);
    }

    @Override
    public void close() throws IOException, InterruptedException {
        run("ip", "link", "set", INTERFACE, "down");
    }
}
