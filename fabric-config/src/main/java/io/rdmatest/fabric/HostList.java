package io.rdmatest.fabric;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Lists of hosts, such as {@code n[01-03,7],login1}, as Slurm, ClusterShell and pdsh write them. */
final class HostList {

    private static final int MOST_HOSTS = 1_000_000;
    private static final Pattern BRACKETS = Pattern.compile("([^\\[]*)\\[([^]]*)](.*)");
    private static final Pattern RANGE = Pattern.compile("(\\d{1,18})(?:-(\\d{1,18})(?:/(\\d{1,9}))?)?");

    private HostList() {}

    /** Returns whether a text stands for several hosts. */
    static boolean isList(String text) {
        return text.indexOf('[') >= 0 || text.indexOf(',') >= 0;
    }

    /**
     * Expands a list: commas between hosts, and in brackets numbers and ranges, with a step as in {@code [1-9/2]}. Numbers keep
     * their leading zeros.
     *
     * @throws FabricException if the text is no list
     */
    static List<String> of(String list) {
        List<String> hosts = new ArrayList<>();
        int depth = 0;
        int begin = 0;
        for (int at = 0; at <= list.length(); at++) {
            char next = at == list.length() ? ',' : list.charAt(at);
            depth += next == '[' ? 1 : next == ']' ? -1 : 0;
            if (next == ',' && depth <= 0 || at == list.length()) {
                expand(list.substring(begin, at).strip(), hosts);
                begin = at + 1;
            }
        }
        return hosts;
    }

    private static void expand(String host, List<String> hosts) {
        Matcher brackets = BRACKETS.matcher(host);
        if (!brackets.matches()) {
            if (host.indexOf('[') >= 0) {
                throw new FabricException("'" + host + "' is no list of hosts: a bracket is not closed");
            }
            if (hosts.size() == MOST_HOSTS) {
                throw new FabricException("the list of hosts has more than " + MOST_HOSTS);
            }
            if (!host.isEmpty()) {
                hosts.add(host);
            }
            return;
        }
        for (String part : brackets.group(2).split(",", -1)) {
            Matcher range = RANGE.matcher(part.strip());
            if (!range.matches()) {
                throw new FabricException(
                        "'" + host + "' is no list of hosts: '" + part + "' is not a number or a range");
            }
            String first = range.group(1);
            long from = Long.parseLong(first);
            long to = range.group(2) == null ? from : Long.parseLong(range.group(2));
            long step = range.group(3) == null ? 1 : Long.parseLong(range.group(3));
            if (to < from || to - from >= MOST_HOSTS || step == 0) {
                throw new FabricException("'" + host + "' is no list of hosts: the range " + part
                        + " is empty or has more than " + MOST_HOSTS + " hosts");
            }
            for (long number = from; number <= to; number += step) {
                String digits = String.format(Locale.ROOT, "%0" + first.length() + "d", number);
                expand(brackets.group(1) + digits + brackets.group(3), hosts);
            }
        }
    }
}
