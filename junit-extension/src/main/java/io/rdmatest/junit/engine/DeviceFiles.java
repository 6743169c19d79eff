package io.rdmatest.junit.engine;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The files of this process through which it has RDMA devices open: one for each context (ibv_open_device(3)). */
final class DeviceFiles {

    private static final Path OPEN = Path.of("/proc/self/fd");
    private static final Path DEVICES = Path.of("/sys/class/infiniband_verbs");

    private DeviceFiles() {}

    /**
     * Counts the contexts that this process has on a device.
     *
     * @return {@link Long#MAX_VALUE} if that is not to be found out
     */
    static long open(String device) {
        long open = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(OPEN)) {
            for (Path file : files) {
                if (isOf(device, file)) {
                    open++;
                }
            }
        } catch (IOException | DirectoryIteratorException | SecurityException e) {
            return Long.MAX_VALUE;
        }
        return open;
    }

    private static boolean isOf(String device, Path file) throws IOException {
        String name;
        try {
            name = String.valueOf(Files.readSymbolicLink(file).getFileName());
        } catch (NoSuchFileException e) {
            // The one through which the folder is read, or one that has just been closed.
            return false;
        }
        return name.startsWith("uverbs")
                && Files.readString(DEVICES.resolve(name).resolve("ibdev"))
                        .strip()
                        .equals(device);
    }
}
