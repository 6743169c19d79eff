package io.rdmatest.verbs;

import io.rdmatest.RdmaException;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.linux.RdmaNetlink;
import io.rdmatest.internal.linux.RdmaNetlink.Attribute;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * An RDMA object as the kernel lists it (rdma-resource(8)), of any process and of the kernel itself. The list comes over netlink
 * and needs no privilege. It takes about ten system calls for each device.
 *
 * @param kind what it is
 * @param device the name of its device; empty for an id that is not bound to one
 * @param number the kernel's number of the object; for a queue pair, the number that the peer uses
 * @param thread the thread that made it, as gettid(2) tells; 0 if that thread has ended, or if the kernel made the object
 * @param module the module of the kernel that made it; empty if a process did
 * @param parents what it is built on, as kind and number; empty if the kernel does not tell
 */
public record KernelResource(
        Kind kind, String device, long number, long thread, String module, Map<Kind, Long> parents) {

    /** The kinds of objects that the kernel lists, parents first. */
    public enum Kind {
        /** An open device. */
        CONTEXT("ctx", 22, 86, 64),
        /** A protection domain. */
        PROTECTION_DOMAIN("pd", 14, 46, 60),
        /** A memory region. */
        MEMORY_REGION("mr", 13, 40, 62),
        /** A completion queue. */
        COMPLETION_QUEUE("cq", 12, 35, 61),
        /** A shared receive queue. */
        SHARED_RECEIVE_QUEUE("srq", 23, 88, 90),
        /** A queue pair. */
        QUEUE_PAIR("qp", 10, 19, 21),
        /** An id of rdma_cm that is bound to a device. */
        CM_ID("cm_id", 11, 30, 63);

        private final String word;
        private final int command;
        private final int table;
        private final int numberAttribute;

        Kind(String word, int command, int table, int numberAttribute) {
            this.word = word;
            this.command = command;
            this.table = table;
            this.numberAttribute = numberAttribute;
        }

        /** Returns the word that {@code rdma resource show} takes for it. */
        public String word() {
            return word;
        }
    }

    private static final int CMD_GET = 1;
    private static final int DEVICE_INDEX = 1;
    private static final int DEVICE_NAME = 2;
    private static final int RES_PID = 28;
    private static final int RES_KERN_NAME = 29;
    private static final Path THREADS = Path.of("/proc/self/task");

    /**
     * Lists all objects of some kinds.
     *
     * @param kinds the kinds to list; none means all. A kind that an older kernel can't list is skipped
     * @return the objects by device and kind; empty if there is none
     * @throws RdmaException if the kernel has no RDMA subsystem
     */
    public static List<KernelResource> list(Kind... kinds) {
        List<Kind> wanted = kinds.length == 0 ? List.of(Kind.values()) : Arrays.asList(kinds);
        List<KernelResource> found = new ArrayList<>();
        try (RdmaNetlink socket = RdmaNetlink.open()) {
            for (List<Attribute> device : socket.dump(CMD_GET)) {
                Map<Integer, Attribute> facts = RdmaNetlink.index(device);
                Attribute index = facts.get(DEVICE_INDEX);
                Attribute name = facts.get(DEVICE_NAME);
                if (index != null && name != null) {
                    for (Kind kind : wanted) {
                        list(socket, kind, (int) index.number(), name.text(), found);
                    }
                }
            }
        }
        return found;
    }

    private static void list(
            RdmaNetlink socket, Kind kind, int deviceIndex, String device, List<KernelResource> found) {
        List<List<Attribute>> messages;
        try {
            messages = socket.dump(kind.command, DEVICE_INDEX, deviceIndex);
        } catch (RdmaException e) {
            // An older kernel does not know the command; a device can go away between the two questions.
            if (Set.of("EINVAL", "EOPNOTSUPP", "ENODEV").contains(Errno.name(e.errno()))) {
                return;
            }
            throw e;
        }
        for (List<Attribute> message : messages) {
            for (Attribute table : message) {
                if (table.type() == kind.table) {
                    for (Attribute entry : table.nested()) {
                        found.add(read(kind, device, entry.byType()));
                    }
                }
            }
        }
    }

    private static KernelResource read(Kind kind, String device, Map<Integer, Attribute> facts) {
        Map<Kind, Long> parents = new LinkedHashMap<>();
        for (Kind parent : Kind.values()) {
            Attribute number = facts.get(parent.numberAttribute);
            if (parent != kind && number != null) {
                parents.put(parent, number.number());
            }
        }
        Attribute number = facts.get(kind.numberAttribute);
        Attribute thread = facts.get(RES_PID);
        Attribute module = facts.get(RES_KERN_NAME);
        return new KernelResource(
                kind,
                device,
                number == null ? -1 : number.number(),
                thread == null ? 0 : thread.number(),
                module == null ? "" : module.text(),
                Map.copyOf(parents));
    }

    /** Tells whether a living thread of this process made the object. */
    public boolean isOfThisProcess() {
        return thread != 0 && Files.exists(THREADS.resolve(Long.toString(thread)));
    }

    /** Returns a name for messages, with what the object is built on: {@code "mr rxe0/3 on pd 7"}. */
    public String describe() {
        StringBuilder text = new StringBuilder(kind.word)
                .append(' ')
                .append(device)
                .append('/')
                .append(number);
        String on = " on ";
        for (Kind parent : Kind.values()) {
            Long its = parents.get(parent);
            if (its != null) {
                text.append(on).append(parent.word).append(' ').append(its);
                on = ", ";
            }
        }
        return text.toString();
    }
}
