package io.rdmatest.fabric;

import java.util.Set;

/**
 * A port of a host, and the switch that another program saw at the other end of its cable. Unknown components are empty, or 0.
 *
 * @param host the host
 * @param device the second word of the adapter's description, such as {@code mlx5_0} or {@code HCA-1}
 * @param number the port of the device
 * @param networkInterface the network interface
 * @param leaf the switch
 */
record CabledPort(String host, String device, int number, String networkInterface, Switch leaf) {

    /**
     * A switch.
     *
     * @param kind the kind of its id, such as {@code mac}. Ids of different kinds can't be compared.
     * @param id what identifies it, also where several switches have one name
     * @param name its name
     * @param addresses its management addresses
     * @param isStation whether it says that it neither bridges nor routes, so it may be no switch
     */
    record Switch(String kind, String id, String name, Set<String> addresses, boolean isStation) {}

    /** Returns a name that a fabric file can have. */
    static String plain(String name) {
        String plain = name.strip().replaceAll("[^A-Za-z0-9._-]+", "-").replaceFirst("^[._-]+", "");
        return plain.length() > 253 ? plain.substring(0, 253) : plain;
    }
}
