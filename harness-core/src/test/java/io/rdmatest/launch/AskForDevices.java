package io.rdmatest.launch;

import io.rdmatest.NativeAccessException;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.RdmaDevice;

/** Calls libibverbs twice, and prints how it went. */
final class AskForDevices {

    private AskForDevices() {}

    public static void main(String[] arguments) {
        for (int call = 0; call < 2; call++) {
            try {
                System.out.println(RdmaDevice.list().size() + " devices");
            } catch (NativeAccessException e) {
                System.out.println("denied: " + e.getMessage());
            } catch (RdmaException e) {
                // A kernel without the RDMA subsystem has no list; the native call was made all the same.
                System.out.println("called " + e.call());
            }
        }
    }
}
