package io.rdmatest.report.output;

import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.ScenarioNames;
import io.rdmatest.report.run.Verdict;
import java.io.IOException;
import java.io.StringWriter;
import java.util.Locale;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * A run in the form that Surefire writes and CI servers read, version 3.0 of its schema. A failed scenario is a failure, a broken
 * one an error.
 */
final class JUnitXml {

    private final StringWriter text = new StringWriter();
    private final XMLStreamWriter xml;

    private JUnitXml() throws XMLStreamException {
        xml = XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(text);
    }

    static String of(Run run) throws IOException {
        try {
            JUnitXml made = new JUnitXml();
            made.write(run);
            return made.text.toString();
        } catch (XMLStreamException e) {
            throw new IOException("the run has no form in XML: " + e.getMessage(), e);
        }
    }

    private void write(Run run) throws XMLStreamException {
        xml.writeStartDocument("UTF-8", "1.0");
        xml.writeCharacters("\n");
        xml.writeStartElement("testsuite");
        attribute("version", "3.0");
        attribute("name", "rdmatest");
        attribute("time", seconds(run.ended().toEpochMilli() - run.began().toEpochMilli()));
        attribute("tests", Integer.toString(run.scenarios().size()));
        attribute("errors", Long.toString(run.count(Verdict.BROKEN)));
        attribute("skipped", Long.toString(run.count(Verdict.SKIPPED)));
        attribute("failures", Long.toString(run.count(Verdict.FAILED)));
        xml.writeStartElement("properties");
        property("runId", run.about().runId());
        property("start", run.start());
        property("end", run.end());
        property("outcome", run.outcome().toString());
        property("outcomeReason", run.outcomeReason());
        for (var fact : run.environment().entrySet()) {
            property(fact.getKey(), fact.getValue());
        }
        xml.writeEndElement();
        for (Run.Scenario scenario : run.scenarios()) {
            write(scenario);
        }
        xml.writeEndElement();
        xml.writeEndDocument();
    }

    private void property(String name, String value) throws XMLStreamException {
        xml.writeEmptyElement("property");
        attribute("name", name);
        attribute("value", value);
    }

    private void write(Run.Scenario scenario) throws XMLStreamException {
        xml.writeCharacters("\n");
        xml.writeStartElement("testcase");
        attribute("name", ScenarioNames.nameInClass(scenario.name));
        attribute("classname", scenario.className.isEmpty() ? "rdmatest" : scenario.className);
        attribute("time", seconds(scenario.durationMillis));
        String reason = scenario.reason == null ? "" : scenario.reason;
        switch (scenario.verdict) {
            case PASSED -> {
                // An element without content.
            }
            case FAILED -> problem("failure", scenario, reason);
            case BROKEN -> problem("error", scenario, reason);
            case SKIPPED -> {
                xml.writeStartElement("skipped");
                attribute("message", reason);
                xml.writeEndElement();
            }
        }
        xml.writeEndElement();
    }

    private void problem(String element, Run.Scenario scenario, String reason) throws XMLStreamException {
        xml.writeStartElement(element);
        attribute("message", reason.lines().findFirst().orElse(""));
        attribute("type", scenario.cause == null ? scenario.verdict.toString() : scenario.cause.name());
        xml.writeCharacters(clean(scenario.lastWords == null ? reason : reason + "\n" + scenario.lastWords));
        xml.writeEndElement();
    }

    private void attribute(String name, String value) throws XMLStreamException {
        xml.writeAttribute(name, clean(value));
    }

    /** XML has no form for most control characters, which a program's output may have. */
    private static String clean(String text) {
        StringBuilder clean = new StringBuilder();
        text.codePoints()
                .map(each -> each == '\n'
                                || each == '\r'
                                || each == '\t'
                                || each >= 0x20 && each < 0xD800
                                || each > 0xDFFF && each < 0xFFFE
                                || each > 0xFFFF
                        ? each
                        : 0xFFFD)
                .forEach(clean::appendCodePoint);
        return clean.toString();
    }

    private static String seconds(long millis) {
        return String.format(Locale.ROOT, "%.3f", Math.max(0, millis) / 1e3);
    }
}
