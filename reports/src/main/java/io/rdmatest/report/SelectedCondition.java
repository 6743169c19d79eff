package io.rdmatest.report;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Leaves out the invocations of a test template that were not asked for by their names. Registered automatically; disables
 * nothing unless some of a template's invocations were asked for.
 */
public final class SelectedCondition implements ExecutionCondition {

    /** The reason of such a skip, which is none of the run's. */
    static final String REASON = "not asked for in this run";

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
                : ConditionEvaluationResult.disabled(REASON);
    }
}
