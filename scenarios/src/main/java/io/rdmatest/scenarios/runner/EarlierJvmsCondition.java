package io.rdmatest.scenarios.runner;

import io.rdmatest.report.run.LeftOut;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Leaves out the invocations of a test template that an earlier JVM of the run began. Filters of the JUnit Platform can't do that
 * before the template is unfolded. The condition is registered automatically. It disables nothing in a JVM that does not continue
 * another JVM's run.
 */
public final class EarlierJvmsCondition implements ExecutionCondition {

    private static final ConditionEvaluationResult NOT_BEGUN = ConditionEvaluationResult.enabled("not begun");

    private static volatile EarlierJvms earlier = EarlierJvms.NOTHING;

    /** Creates the condition; JUnit does. */
    public EarlierJvmsCondition() {}

    static void leaveOut(EarlierJvms earlier) {
        EarlierJvmsCondition.earlier = earlier;
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return earlier.contains(context.getUniqueId()) ? ConditionEvaluationResult.disabled(LeftOut.BEGUN) : NOT_BEGUN;
    }
}
