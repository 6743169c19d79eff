package io.rdmatest.junit.condition;

import io.rdmatest.SkipReason;
import io.rdmatest.junit.engine.Release;
import io.rdmatest.junit.engine.RequirementCondition;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The condition behind {@link RequiresKernel @RequiresKernel}. */
final class RequiresKernelCondition extends RequirementCondition<RequiresKernel> {

    RequiresKernelCondition() {
        super(RequiresKernel.class, false);
    }

    @Override
    protected List<Lack> lacks(RequiresKernel required, ExtensionContext place, ExtensionContext test) {
        if (required.min().isEmpty() && required.max().isEmpty()) {
            throw wrong(place, "", "it names no release; give min or max");
        }
        Optional<Release> min = release(place, "min", required.min());
        Optional<Release> max = release(place, "max", required.max());
        if (min.isPresent() && max.isPresent() && min.get().compareTo(max.get()) > 0) {
            throw wrong(place, "min", "\"" + required.min() + "\" is newer than max \"" + required.max() + "\"");
        }
        String running = System.getProperty("os.version", "");
        Release kernel = Release.leading(running);
        if (min.isPresent() && kernel.compareTo(min.get()) < 0) {
            return List.of(Lack.of(
                    SkipReason.UNSUPPORTED_BY_KERNEL,
                    "the kernel is " + running + ", and the test wants " + required.min() + " or newer"));
        }
        if (max.isPresent() && max.get().isBefore(kernel)) {
            return List.of(Lack.of(
                    SkipReason.UNSUPPORTED_BY_KERNEL,
                    "the kernel is " + running + ", and the test wants " + required.max() + " or older"));
        }
        return List.of();
    }

    private Optional<Release> release(ExtensionContext context, String member, String text) {
        try {
            return text.isEmpty() ? Optional.empty() : Optional.of(Release.parse(text));
        } catch (IllegalArgumentException e) {
            throw wrong(context, member, e.getMessage());
        }
    }
}
