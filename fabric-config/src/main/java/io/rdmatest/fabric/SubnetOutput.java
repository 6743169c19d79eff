package io.rdmatest.fabric;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The output of ibnetdiscover(8), of one InfiniBand subnet. */
final class SubnetOutput {

    private static final Pattern SWITCH =
            Pattern.compile("^Switch\\s+\\d+\\s+\"(S-[0-9a-fA-F]+)\"\\s*#\\s*\"([^\"]*)\".*");
    private static final Pattern ADAPTER = Pattern.compile("^Ca\\s+\\d+\\s+\"H-[0-9a-fA-F]+\"\\s*#\\s*\"([^\"]*)\".*");
    private static final Pattern CABLE =
            Pattern.compile("^\\[(\\d{1,3})](?:\\[ext \\d+])?(?:\\([0-9a-fA-F]+\\))?\\s+\"(S-[0-9a-fA-F]+)\".*");

    private SubnetOutput() {}

    static boolean begins(String line) {
        return SWITCH.matcher(line).matches() || ADAPTER.matcher(line).matches();
    }

    static List<CabledPort> read(String text) {
        Map<String, String> names = new LinkedHashMap<>();
        text.lines().forEach(line -> {
            Matcher found = SWITCH.matcher(line);
            if (found.matches()) {
                names.put(found.group(1), named(found.group(2)));
            }
        });
        Collection<String> all = names.values();
        List<CabledPort> ports = new ArrayList<>();
        String[] words = null;
        for (String line : (Iterable<String>) text.lines()::iterator) {
            Matcher adapter = ADAPTER.matcher(line);
            Matcher cable = CABLE.matcher(line);
            if (adapter.matches()) {
                words = adapter.group(1).replace("'", "").strip().split("\\s+", -1);
            } else if (line.isBlank() || line.startsWith("Switch")) {
                words = null;
            } else if (words != null && cable.matches()) {
                String guid = cable.group(2);
                String name = names.getOrDefault(guid, "");
                // The description of a switch without a name of its own is its model. Spines count, too.
                boolean unique = Collections.frequency(all, name) == 1;
                ports.add(new CabledPort(
                        words[0],
                        words.length > 1 ? words[1] : "",
                        Integer.parseInt(cable.group(1)),
                        "",
                        new CabledPort.Switch("guid", guid, unique ? name : "", Set.of(), false)));
            }
        }
        return ports;
    }

    /** Returns the name of a switch from its description, such as {@code MF0;leaf1:MQM8700/U1}. */
    private static String named(String description) {
        int begin = description.indexOf(';') + 1;
        int end = description.indexOf(':', begin);
        return CabledPort.plain(begin > 0 && end > begin ? description.substring(begin, end) : description);
    }
}
