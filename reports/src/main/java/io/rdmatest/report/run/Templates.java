package io.rdmatest.report.run;

import gg.jte.ContentType;
import gg.jte.TemplateEngine;
import gg.jte.output.StringOutput;

/** Fills in the templates of {@code src/main/jte}. The build makes a class of each, in the package that its folder names. */
public final class Templates {

    private Templates() {}

    /**
     * Returns a page in HTML or a chart in SVG.
     *
     * @param place a class of the template's package
     * @param name the file name of the template
     * @param model its only parameter
     */
    public static String render(Class<?> place, String name, Object model) {
        StringOutput text = new StringOutput();
        TemplateEngine.createPrecompiled(null, ContentType.Html, place.getClassLoader(), place.getPackageName())
                .render(name, model, text);
        return text.toString();
    }
}
