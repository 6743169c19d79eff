package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.util.SplittableRandom;

/**
 * The cells of udaddy(1). Its port is fixed. So the cells run one after the other, and each waits for the end of its program,
 * which frees the port.
 */
final class UdaddyCells extends ConnectionCells<UdaddyOptions, UdaddyRoles.Result> {

    UdaddyCells() {
        super("udaddy", UdaddyOptions.class, false);
    }

    @Override
    Drawn draw(SplittableRandom random) {
        String both = "-c " + random.nextInt(1, 9) + " -C " + random.nextInt(0, 31)
                // As many small ones as large ones, at most the MTU of every Ethernet.
                + " -S " + random.nextInt(0, (1 << random.nextInt(1, 11)) + 1)
                // The program's -p takes a number only.
                + (random.nextInt(3) == 0 ? " -P udp" : "");
        return new Drawn(both, "", "", random.nextBoolean(), random.nextInt(3) == 0, random.nextInt(3) == 0);
    }

    @Override
    Role<UdaddyRoles.Result> client(UdaddyOptions given) {
        return new UdaddyRoles.Client(given);
    }

    @Override
    Role<UdaddyRoles.Result> server(UdaddyOptions given) {
        return new UdaddyRoles.Server(given);
    }
}
