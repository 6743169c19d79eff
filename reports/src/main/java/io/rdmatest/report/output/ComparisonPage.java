package io.rdmatest.report.output;

import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.run.Templates;

/** What changed since earlier runs, as a page beside the report. It is no result of the report: the scenarios are. */
final class ComparisonPage {

    private ComparisonPage() {}

    static String toHtml(QualificationComparison comparison) {
        return Templates.render(ComparisonPage.class, "comparison.jte", comparison);
    }
}
