/** What a run leaves behind: the journal, the Allure report with its charts, and the qualification summary. */
@NullMarked
package io.rdmatest.report;

import org.jspecify.annotations.NullMarked;
