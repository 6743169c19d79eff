package io.rdmatest.scenarios.cli;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;

/**
 * Runs a program in a JVM that writes down which classes it loads and links, for later JVMs to start with them ready (JEP 483,
 * JEP 514). It is run where there may be no device: what only a device would bring to light is loaded here first.
 */
final class AotTraining {

    private static final String OURS = "io/rdmatest/";
    private static final String SUFFIX = ".class";

    private AotTraining() {}

    /**
     * Loads and links the classes of rdmatest that are on the class path, lists the devices as the command does, and runs the
     * program if there is one.
     *
     * @param arguments the class with the main method of the program, and its arguments; or none
     */
    public static void main(String[] arguments) throws Exception {
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (entry.endsWith(".jar")) {
                link(entry);
            }
        }
        // Without libraries, kernel modules or a device there is less to write down.
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        System.out.println("devices ends with " + Rdmatest.execute(out, out, "devices", "--json"));
        if (arguments.length == 0) {
            return;
        }
        Method main = Class.forName(arguments[0]).getDeclaredMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(arguments[0] + " failed", e.getCause());
        }
    }

    private static void link(String jar) throws IOException {
        try (JarFile file = new JarFile(jar)) {
            List<String> classes = file.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith(OURS) && name.endsWith(SUFFIX) && !name.endsWith("-info.class"))
                    .map(name ->
                            name.substring(0, name.length() - SUFFIX.length()).replace('/', '.'))
                    .toList();
            for (String name : classes) {
                try {
                    // Not initialised: that may need the native libraries. Asking for methods links a class.
                    Method[] ignored = Class.forName(name, false, AotTraining.class.getClassLoader())
                            .getDeclaredMethods();
                } catch (ClassNotFoundException | LinkageError e) {
                    System.out.println(name + " is left out: " + e);
                }
            }
        }
    }
}
