/** The files of a run, all made from its model: summary, Allure report, JUnit XML, metrics, and the comparison with earlier runs. */
@NullMarked
package io.rdmatest.report.output;

import org.jspecify.annotations.NullMarked;
