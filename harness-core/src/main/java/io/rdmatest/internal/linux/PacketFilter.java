package io.rdmatest.internal.linux;

import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The classic BPF program that selects the packets to capture: RoCEv2, IGMP and MLD, ARP and neighbour discovery, and
 * all packets with a VLAN tag.
 *
 * <p>Format: the kernel's document "Linux Socket Filtering".
 */
final class PacketFilter {

    private static final int LOAD_HALF = 0x28;
    private static final int LOAD_BYTE = 0x30;

    /** Loads four times the low nibble of a byte into the index register: the length of an IPv4 header. */
    private static final int INDEX_HEADER_LENGTH = 0xb1;

    private static final int LOAD_HALF_INDEXED = 0x48;
    private static final int JUMP_EQUAL = 0x15;
    private static final int JUMP_ANY_BIT = 0x45;
    private static final int RETURN = 0x06;

    private static final int ETHERNET = 14;
    private static final int UDP = 17;
    private static final int ROCE_PORT = 4791;

    private static final String NEXT = "";
    private static final String ACCEPT = "accept";
    private static final String REJECT = "reject";

    private record Instruction(int code, int operand, String ifTrue, String ifFalse) {}

    private final List<Instruction> instructions = new ArrayList<>();
    private final Map<String, Integer> labels = new LinkedHashMap<>();

    private PacketFilter() {}

    /**
     * Assembles the program.
     *
     * @param snapLength the captured bytes of a packet
     * @return a struct sock_filter for each instruction
     */
    static long[] program(int snapLength) {
        PacketFilter filter = new PacketFilter();
        filter.load(LOAD_HALF, 12);
        filter.jump(JUMP_EQUAL, 0x0800, "ipv4", NEXT);
        filter.jump(JUMP_EQUAL, 0x86dd, "ipv6", NEXT);
        // ARP, and VLAN tags that are still in the packet.
        filter.jump(JUMP_EQUAL, 0x0806, ACCEPT, NEXT);
        filter.jump(JUMP_EQUAL, 0x8100, ACCEPT, REJECT);

        filter.label("ipv4");
        filter.load(LOAD_BYTE, ETHERNET + 9);
        // IGMP
        filter.jump(JUMP_EQUAL, 2, ACCEPT, NEXT);
        filter.jump(JUMP_EQUAL, UDP, NEXT, REJECT);
        // Only the first fragment of a packet has the port.
        filter.load(LOAD_HALF, ETHERNET + 6);
        filter.jump(JUMP_ANY_BIT, 0x1fff, REJECT, NEXT);
        filter.load(INDEX_HEADER_LENGTH, ETHERNET);
        filter.load(LOAD_HALF_INDEXED, ETHERNET + 2);
        filter.jump(JUMP_EQUAL, ROCE_PORT, ACCEPT, REJECT);

        filter.label("ipv6");
        filter.load(LOAD_BYTE, ETHERNET + 6);
        // ICMPv6. MLD has a hop-by-hop header before it.
        filter.jump(JUMP_EQUAL, 58, ACCEPT, NEXT);
        filter.jump(JUMP_EQUAL, 0, ACCEPT, NEXT);
        filter.jump(JUMP_EQUAL, UDP, NEXT, REJECT);
        filter.load(LOAD_HALF, ETHERNET + 40 + 2);
        filter.jump(JUMP_EQUAL, ROCE_PORT, ACCEPT, REJECT);

        filter.label(ACCEPT);
        filter.load(RETURN, snapLength);
        filter.label(REJECT);
        filter.load(RETURN, 0);
        return filter.assemble();
    }

    private void label(String name) {
        labels.put(name, instructions.size());
    }

    private void load(int code, int operand) {
        instructions.add(new Instruction(code, operand, NEXT, NEXT));
    }

    private void jump(int code, int operand, String ifTrue, String ifFalse) {
        instructions.add(new Instruction(code, operand, ifTrue, ifFalse));
    }

    private long[] assemble() {
        long[] program = new long[instructions.size()];
        for (int i = 0; i < program.length; i++) {
            Instruction each = instructions.get(i);
            long ifTrue = distance(i, each.ifTrue());
            long ifFalse = distance(i, each.ifFalse());
            // u16 code, u8 jt, u8 jf, u32 k
            program[i] = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
                    ? each.code() | ifTrue << 16 | ifFalse << 24 | Integer.toUnsignedLong(each.operand()) << 32
                    : (long) each.code() << 48 | ifTrue << 40 | ifFalse << 32 | Integer.toUnsignedLong(each.operand());
        }
        return program;
    }

    private int distance(int from, String label) {
        return label.equals(NEXT) ? 0 : Objects.requireNonNull(labels.get(label), label) - from - 1;
    }
}
