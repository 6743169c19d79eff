package io.rdmatest.fabric;

/** The system properties that select a fabric, a rail and a device. */
public final class FabricConfiguration {

    /**
     * The fabric: the name of a bundled one ({@code auto}); another name, looked up in the folder {@code fabrics} or
     * {@code fabric-config/fabrics} of the working directory and its parents, up to the root of the project; or the path of a
     * YAML file. Default {@value #DEFAULT_FABRIC}.
     */
    public static final String FABRIC = "rdma.fabric";

    /**
     * Overrides the device of the local node: {@code rxe0} or, with the port, {@code rxe0/1}. The fabric's GID
     * selection still applies. Default: the fabric's device.
     */
    public static final String DEVICE = "rdma.device";

    /**
     * The rail: nodes with several devices use their device on this rail. Default: each node's first rail in the
     * fabric's file.
     */
    public static final String RAIL = "rdma.rail";

    /** The default fabric: the first active device of this host. */
    public static final String DEFAULT_FABRIC = "auto";

    private FabricConfiguration() {}
}
