package io.rdmatest.junit.condition;

import io.rdmatest.SkipReason;
import io.rdmatest.junit.Quantity;
import io.rdmatest.junit.engine.RequirementCondition;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresPrivilege @RequiresPrivilege}. */
final class RequiresPrivilegeCondition extends RequirementCondition<RequiresPrivilege> {

    RequiresPrivilegeCondition() {
        super(RequiresPrivilege.class, false);
    }

    @Override
    protected List<Lack> lacks(RequiresPrivilege required, ExtensionContext place, ExtensionContext test) {
        if (required.value().length == 0 && required.lockedMemory().isEmpty()) {
            throw wrong(place, "", "it names no privilege; give some, or lockedMemory");
        }
        long bytes = 0;
        if (!required.lockedMemory().isEmpty()) {
            try {
                bytes = Quantity.bytes(required.lockedMemory());
            } catch (IllegalArgumentException e) {
                throw wrong(place, "lockedMemory", e.getMessage());
            }
        }
        ProcessRights rights = ProcessRights.ofThisProcess();
        List<Lack> lacks = new ArrayList<>();
        for (Privilege privilege : required.value()) {
            rights.lack(privilege).ifPresent(why -> lacks.add(Lack.of(SkipReason.NOT_PERMITTED, why)));
        }
        rights.lockedMemoryLack(bytes).ifPresent(why -> lacks.add(Lack.of(SkipReason.NOT_PERMITTED, why)));
        return lacks;
    }
}
