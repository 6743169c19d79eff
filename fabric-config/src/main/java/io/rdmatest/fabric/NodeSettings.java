package io.rdmatest.fabric;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The settings of the devices and network interfaces of a host, as {@code probe.sh} reports them. */
final class NodeSettings {

    /** Bit 4 of Device Control in the PCI Express capability. */
    private static final int RELAXED_ORDERING = 1 << 4;

    private static final int PRIORITIES = 8;
    private static final int DSCPS = 64;

    /** The value of a register whose device does not answer. */
    private static final int NO_ANSWER = 0xffff;

    private static final Pattern REGISTER = Pattern.compile("[0-9a-f]{4}");

    /** For unknown values the kernel reports "Unknown", width 0 or 255, or NUMA node -1. */
    private static final Pattern NOT_KNOWN = Pattern.compile("-\\d+|Unknown.*|(?i:n/a)");

    private static final Pattern TRUST = Pattern.compile("Priority trust state: *(\\w+)");
    private static final Pattern ENABLED = Pattern.compile("^\\s*enabled((?:\\s+[01]){8})\\s*$");
    private static final Pattern PRIORITY = Pattern.compile("^\\s*prio:([0-7]) dscp:([\\d,]+)");
    private static final Pattern DCB_PFC = Pattern.compile("\\b([0-7]):(on|off)\\b");
    private static final Pattern DCB_DSCP = Pattern.compile("\\b(\\d{1,2}):([0-7])\\b");

    private final Map<String, Map<String, String>> ofDevices = new HashMap<>();
    private final Map<String, Map<String, String>> ofInterfaces = new HashMap<>();
    private final Map<String, TreeMap<Integer, String>> mapsOfMlnxQos = new HashMap<>();
    private final Map<String, TreeMap<Integer, String>> mapsOfDcb = new HashMap<>();

    /** Reads a line of the probe. Ignores garbled lines and lines about other things. */
    void read(String line) {
        String[] words = line.split(" ", 3);
        if (words.length < 3) {
            return;
        }
        Map<String, String> ofDevice = ofDevices.computeIfAbsent(words[1], device -> new LinkedHashMap<>());
        Map<String, String> ofInterface = ofInterfaces.computeIfAbsent(words[1], name -> new LinkedHashMap<>());
        switch (words[0]) {
            case "setting" -> put(ofDevice, words[2]);
            case "of-interface" -> put(ofInterface, words[2]);
            case "register" -> register(ofDevice, words[2].split(" "));
            case "mlnx-qos" -> mlnxQos(words[1], ofInterface, words[2]);
            case "dcb" -> dcb(words[1], ofInterface, words[2]);
            default -> {
                // A line of a later script.
            }
        }
    }

    private static void put(Map<String, String> settings, String keyAndValue) {
        String[] words = keyAndValue.split(" ", 2);
        if (words.length < 2 || NOT_KNOWN.matcher(words[1]).matches()) {
            return;
        }
        boolean width = words[0].endsWith("Width");
        if (!width || !(words[1].equals("0") || words[1].equals("255"))) {
            settings.put(words[0], words[1].strip());
        }
    }

    /** Words: what, address, value. */
    private static void register(Map<String, String> settings, String[] words) {
        if (words.length < 3
                || !REGISTER.matcher(words[2].toLowerCase(Locale.ROOT)).matches()) {
            return;
        }
        int value = Integer.parseInt(words[2], 16);
        if (value == NO_ANSWER) {
            return;
        }
        if (words[0].equals("relaxedOrdering")) {
            settings.put("relaxedOrdering", (value & RELAXED_ORDERING) != 0 ? "on" : "off");
        } else if (words[0].equals("acs")
                && !settings.getOrDefault("acs", "off").equals("on")) {
            // One bridge on the way with it is enough.
            if (value != 0 || !settings.containsKey("acs")) {
                settings.put("acs", value != 0 ? "on" : "off");
                settings.put("acsBridge", words[1]);
            }
        }
    }

    private void mlnxQos(String name, Map<String, String> settings, String line) {
        Matcher trust = TRUST.matcher(line);
        Matcher enabled = ENABLED.matcher(line);
        Matcher priority = PRIORITY.matcher(line);
        if (trust.find()) {
            settings.put("trust", trust.group(1));
        } else if (enabled.find()) {
            settings.put("pfc", enabled.group(1).strip().replaceAll("\\s+", ","));
        } else if (priority.find()) {
            for (String dscp : priority.group(2).split(",")) {
                map(mapsOfMlnxQos, name, dscp, priority.group(1));
            }
        }
    }

    private void dcb(String name, Map<String, String> settings, String line) {
        if (line.contains("dscp-prio")) {
            Matcher entry = DCB_DSCP.matcher(line);
            while (entry.find()) {
                map(mapsOfDcb, name, entry.group(1), entry.group(2));
            }
        } else if (line.contains("-pfc")) {
            String[] enabled = new String[PRIORITIES];
            Matcher entry = DCB_PFC.matcher(line);
            while (entry.find()) {
                enabled[Integer.parseInt(entry.group(1))] = entry.group(2).equals("on") ? "1" : "0";
            }
            if (Stream.of(enabled).allMatch(each -> each != null)) {
                settings.putIfAbsent("pfc", String.join(",", enabled));
            }
        }
    }

    private static void map(Map<String, TreeMap<Integer, String>> maps, String name, String dscp, String priority) {
        if (dscp.matches("\\d{1,2}") && Integer.parseInt(dscp) < DSCPS) {
            maps.computeIfAbsent(name, any -> new TreeMap<>()).put(Integer.parseInt(dscp), priority);
        }
    }

    /** Returns the known settings of a device and of a network interface; an empty name stands for no interface. */
    Map<String, String> of(String device, String name) {
        Map<String, String> known = new LinkedHashMap<>(ofDevices.getOrDefault(device, Map.of()));
        if (name.isEmpty()) {
            return known;
        }
        known.put("interface", name);
        known.putAll(ofInterfaces.getOrDefault(name, Map.of()));
        String notifies = known.remove("ecn-np");
        String reacts = known.remove("ecn-rp");
        if (notifies != null && reacts != null) {
            known.put("ecn", "np " + notifies + " rp " + reacts);
        }
        // dcb(8) shows only the configured entries, and mlnx_qos the whole map. So the two can't be compared.
        if (mapsOfMlnxQos.containsKey(name)) {
            known.put("dscpMap", text(mapsOfMlnxQos.get(name)));
        } else if (mapsOfDcb.containsKey(name)) {
            known.put("dscpEntries", text(mapsOfDcb.get(name)));
        }
        return known;
    }

    /** Returns the map as text, such as 0-7:0 8-15:1. */
    private static String text(TreeMap<Integer, String> priorities) {
        Map<Integer, Integer> runs = new TreeMap<>();
        int first = -1;
        for (int dscp : priorities.keySet()) {
            boolean same = first >= 0
                    && priorities.containsKey(dscp - 1)
                    && priorities.get(dscp).equals(priorities.get(dscp - 1));
            first = same ? first : dscp;
            runs.put(first, dscp);
        }
        return runs.entrySet().stream()
                .map(run -> run.getKey() + (run.getKey().equals(run.getValue()) ? "" : "-" + run.getValue()) + ":"
                        + priorities.get(run.getKey()))
                .collect(Collectors.joining(" "));
    }
}
