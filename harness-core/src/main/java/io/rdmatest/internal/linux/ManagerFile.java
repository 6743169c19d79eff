package io.rdmatest.internal.linux;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.internal.Errno;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The file by which librdmacm reaches the kernel's connection manager. A container may have a device without it. */
public final class ManagerFile {

    private static final String NAME = "rdma_cm";

    private ManagerFile() {}

    /** Returns why connections can't be made on this host: one sentence with the cure; empty if the file is there, or no device is. */
    public static Optional<String> missing() {
        return missing(Path.of("/dev/infiniband"), Path.of("/sys"));
    }

    /**
     * Builds the exception for a call that opens the file: if the file is missing, its message says so, whatever the errno.
     *
     * @param call the C function
     * @param operands the operands, readable for people; may be empty
     * @return the exception, with the errno of the calling thread's last capturing call
     */
    public static RdmaException failure(String call, String operands) {
        RdmaException failure = NativeCalls.failure(call, operands);
        int errno = failure.errno();
        return missing()
                .map(text -> new RdmaException(
                        Cause.HOST_NOT_READY, call + " failed: " + Errno.name(errno) + ": " + text, call, errno))
                .orElse(failure);
    }

    static Optional<String> missing(Path devices, Path sysfs) {
        Path file = devices.resolve(NAME);
        if (!Files.isDirectory(devices) || Files.exists(file)) {
            return Optional.empty();
        }
        // The kernel has it, and what makes device files gave this place the one of the device only.
        return Optional.of(
                Files.exists(sysfs.resolve("class/misc").resolve(NAME))
                        ? "this container lacks " + file + ", which connections need: start it with --device " + file
                        : file
                                + " is missing, which connections need: load the kernel module ('modprobe rdma_ucm' as root,"
                                + " for a container on its host)");
    }
}
