package io.rdmatest.scenarios.runner;

import io.rdmatest.report.run.LeftOut;
import io.rdmatest.report.run.ScenarioNames;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Leaves out the invocations of a test template that were not selected by name. The condition is registered automatically. It
 * disables nothing unless some of a template's invocations were selected.
 */
public final class SelectedCondition implements ExecutionCondition {

    private static final ConditionEvaluationResult SELECTED = ConditionEvaluationResult.enabled("asked for");

    private static volatile Selection selection = Selection.ALL;

    /** Creates the condition; JUnit does. */
    public SelectedCondition() {}

    static void select(Selection selection) {
        SelectedCondition.selection = selection;
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        String id = context.getUniqueId();
        int last = id.lastIndexOf("/[");
        if (selection.isEverything() || last < 0 || !ScenarioNames.isInvocation(id)) {
            return SELECTED;
        }
        String shown = ScenarioNames.name(context);
        String stable = ScenarioNames.id(
                id,
                context.getRequiredTestClass().getName(),
                context.getRequiredTestMethod().getName(),
                shown);
        return selection.includes(id.substring(0, last), shown, stable)
                ? SELECTED
                : ConditionEvaluationResult.disabled(LeftOut.NOT_SELECTED);
    }
}
