package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import java.util.SplittableRandom;

/** The cells of ucmatose(1). */
final class UcmatoseCells extends ConnectionCells<UcmatoseOptions, UcmatoseRoles.Result> {

    UcmatoseCells() {
        super("ucmatose", UcmatoseOptions.class, true);
    }

    @Override
    Drawn draw(SplittableRandom random) {
        String both = "-c " + random.nextInt(1, 9) + " -C " + random.nextInt(0, 31)
                // As many small ones as large ones.
                + " -S " + random.nextInt(0, (1 << random.nextInt(1, 13)) + 1)
                + (random.nextInt(4) == 0 ? " -P ib" : "");
        boolean bind = random.nextBoolean();
        String migrates = random.nextInt(3) == 0 ? " -m" : "";
        boolean acknowledge = random.nextInt(3) == 0;
        boolean tos = random.nextInt(3) == 0;
        boolean numeric = random.nextInt(3) == 0;
        boolean ipv6 = random.nextInt(3) == 0;
        String weMigrate = random.nextInt(3) == 0 ? " -m" : "";
        String external = random.nextInt(3) == 0 ? " --external-qp" : "";
        return new Drawn(
                both,
                (numeric ? ipv6 ? " -f ipv6" : " -f ip" : "") + migrates + (acknowledge ? " -a 16" : ""),
                weMigrate + external + (acknowledge ? " -a 17" : ""),
                bind,
                tos,
                ipv6);
    }

    @Override
    Role<UcmatoseRoles.Result> client(UcmatoseOptions given) {
        return new UcmatoseRoles.Client(given);
    }

    @Override
    Role<UcmatoseRoles.Result> server(UcmatoseOptions given) {
        return new UcmatoseRoles.Server(given);
    }
}
