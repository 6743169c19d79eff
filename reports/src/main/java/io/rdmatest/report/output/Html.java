package io.rdmatest.report.output;

/** Makes pages that are attached to results. They have no scripts and load nothing. */
final class Html {

    private Html() {}

    /**
     * Begins a page.
     *
     * @param title its title, which is its heading as well
     * @param styles additional rules of CSS beside those of a table
     */
    static StringBuilder begin(String title, String styles) {
        return new StringBuilder("""
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="UTF-8"><title>%1$s</title><style>
                body { font: 14px sans-serif; margin: 12px; color: #222; background: #fff; }
                table { border-collapse: collapse; }
                th, td { border: 1px solid #ccc; padding: 4px 8px; text-align: left; vertical-align: top; }
                th { background: #f2f2f2; }
                %2$s</style></head><body>
                <h3>%1$s</h3>
                """.formatted(escaped(title), styles));
    }

    /** Ends a page. */
    static String end(StringBuilder page) {
        return page.append("</body></html>\n").toString();
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("'", "&#39;");
    }
}
