/** What listens to the tests in their JVM, and gives the journal and Allure what they publish. */
@NullMarked
package io.rdmatest.report.listener;

import org.jspecify.annotations.NullMarked;
