package io.rdmatest.report.run;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * What wrote a summary.
 *
 * @param name {@code rdmatest}
 * @param version the version of the build, such as {@code 0.1.0}
 */
public record Tool(String name, String version) {

    /** This build. */
    public static final Tool THIS = new Tool("rdmatest", read());

    private static String read() {
        try (InputStream file = Tool.class.getResourceAsStream("version.properties")) {
            if (file == null) {
                throw new IllegalStateException("version.properties is missing beside " + Tool.class);
            }
            Properties properties = new Properties();
            properties.load(file);
            return properties.getProperty("version");
        } catch (IOException e) {
            throw new UncheckedIOException("version.properties can't be read", e);
        }
    }
}
