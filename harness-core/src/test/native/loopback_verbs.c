/*
 * A library in the place of libibverbs.so.1 that loops messages back in user space.
 *
 * It has one device, "standin0", which the kernel does not know. It carries SEND, WRITE, READ and atomics between the
 * queue pairs of one process. A message is delivered inside of the post that completes it. No thread, no timer and no
 * kernel object is behind it.
 *
 * It answers on command as hardware does and soft-RoCE never does: loopback_set(NAME, VALUE). The table "settings" below
 * has the names.
 *
 * Each change of a queue pair to INIT or RTR is a line in the file that LOOPBACK_RECORD names in the environment: what the options
 * of a program are in the end.
 *
 * What passes here says nothing about any fabric.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The header has macros and inline functions of these names. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define EXPORT __attribute__((visibility("default")))

enum { MOST_QPS = 1 << 16, MOST_MRS = 1 << 16, MOST_SRQS = 1 << 8, GRH = 40 };

/* ---- settings ---- */

enum setting {
    DESTROY_ERROR, CALL_ERROR, POLL_RESULT, POST_RESULT, POST_BAD, DESTROY_CALLS, LIVE_OBJECTS, LINK_LAYER, LID, SM_LID, LMC,
    PKEYS, GIDS, GID_STEP, SPEED, SPEED_EX, WIDTH, PORT_ATTR_SIZE, ATOMICS, RC, SRQ, MAX_SGE, QUERY_MASK, REFUSED_ACCESS,
    NODE_TYPE, TRANSPORT, VECTORS, VECTOR, PAGING, DMABUF, WINDOWS, STAMPS, NEXT_RESULT, REFUSED_WC, ECE, XRC, SINK,
    IPOIB_PKEY,
    SETTINGS
};

static struct {
    const char *name;
    long usual;
    _Atomic long value;
} settings[SETTINGS] = {
    /* The errno of every call that destroys something; the object stays allocated, as providers leave it. */
    [DESTROY_ERROR] = {"destroy_error", 0, 0},
    /* The errno of every other call that goes to the kernel. */
    [CALL_ERROR] = {"call_error", 0, 0},
    /* What ibv_poll_cq returns if it is not 0. */
    [POLL_RESULT] = {"poll_result", 0, 0},
    /* What the posts return if it is not 0, and the index of the request that they call bad; -1 for none. */
    [POST_RESULT] = {"post_result", 0, 0},
    [POST_BAD] = {"post_bad", 0, 0},
    /* Counters: calls that destroy something, and objects that are not destroyed. */
    [DESTROY_CALLS] = {"destroy_calls", 0, 0},
    [LIVE_OBJECTS] = {"live_objects", 0, 0},
    /* The port. A library older than rdma-core 49 copies 52 bytes of the attributes, later ones 56. */
    [LINK_LAYER] = {"link_layer", IBV_LINK_LAYER_ETHERNET, 0},
    [LID] = {"lid", 0, 0},
    [SM_LID] = {"sm_lid", 0, 0},
    [LMC] = {"lmc", 0, 0},
    [PKEYS] = {"pkeys", 1, 0},
    [GIDS] = {"gids", 2, 0},
    [GID_STEP] = {"gid_step", 1, 0},
    [SPEED] = {"speed", 64, 0},
    [SPEED_EX] = {"speed_ex", 0, 0},
    [WIDTH] = {"width", 2, 0},
    [PORT_ATTR_SIZE] = {"port_attr_size", 56, 0},
    /* The device. */
    [ATOMICS] = {"atomics", IBV_ATOMIC_HCA, 0},
    [RC] = {"rc", 1, 0},
    [SRQ] = {"srq", 1, 0},
    [MAX_SGE] = {"max_sge", 16, 0},
    /* Bits of ibv_query_qp that the provider knows; 0 for all. */
    [QUERY_MASK] = {"query_mask", 0, 0},
    /* Bits of access that memory and queue pairs are refused for. */
    [REFUSED_ACCESS] = {"refused_access", 0, 0},
    [NODE_TYPE] = {"node_type", IBV_NODE_CA, 0},
    [TRANSPORT] = {"transport", IBV_TRANSPORT_IB, 0},
    [VECTORS] = {"vectors", 4, 0},
    /* A record: the completion vector of the last completion queue. */
    [VECTOR] = {"vector", 0, 0},
    /* The bits of odp_caps.general_caps, and whether memory of a dma-buf can be registered. */
    [PAGING] = {"paging", 0, 0},
    [DMABUF] = {"dmabuf", 0, 0},
    /* Memory windows: 1 for those of type 1, 2 for those of type 2. */
    [WINDOWS] = {"windows", 0, 0},
    /* Whether completions of extended queues have timestamps, by a device's clock of 1 GHz and by that of the day. */
    [STAMPS] = {"stamps", 0, 0},
    /* The options that queue pairs offer by ECE, for the vendor 0x123456; 0 for no ECE. */
    [ECE] = {"ece", 0, 0},
    /* Whether there are XRC domains, and queue pairs and shared receive queues of them. */
    [XRC] = {"xrc", 0, 0},
    /* What next_poll of an extended queue returns if it is not 0. */
    [NEXT_RESULT] = {"next_result", 0, 0},
    /* Bits of wc_flags that extended queues are refused for. */
    [REFUSED_WC] = {"refused_wc", 0, 0},
    /* Whether devices that are opened from now on complete requests at once and carry nothing: see "a sink" below. */
    [SINK] = {"sink", 0, 0},
    /* The partition of the network interface that IP addresses belong to. */
    [IPOIB_PKEY] = {"ipoib_pkey", 0xffff, 0},
};

static inline long get(enum setting setting)
{
    return atomic_load_explicit(&settings[setting].value, memory_order_relaxed);
}

EXPORT long loopback_get(const char *name)
{
    for (int i = 0; i < SETTINGS; i++)
        if (!strcmp(settings[i].name, name))
            return get(i);
    return -1;
}

/* Returns 0; -1 if there is no such setting. */
EXPORT int loopback_set(const char *name, long value)
{
    for (int i = 0; i < SETTINGS; i++)
        if (!strcmp(settings[i].name, name)) {
            atomic_store(&settings[i].value, value);
            return 0;
        }
    return -1;
}

EXPORT void loopback_usual(void)
{
    for (int i = 0; i < SETTINGS; i++)
        if (i != LIVE_OBJECTS)
            atomic_store(&settings[i].value, settings[i].usual);
}

/* LOOPBACK="NAME=VALUE,..." in the environment changes answers from the beginning, for programs. */
__attribute__((constructor)) static void begin(void)
{
    loopback_usual();
    const char *given = getenv("LOOPBACK");
    char *words = given ? strdup(given) : NULL;
    char *rest = NULL;
    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (!value || loopback_set(word, strtol(value, NULL, 0))) {
            fprintf(stderr, "LOOPBACK=%s: there is no setting %s\n", given, word);
            exit(2);
        }
    }
    free(words);
}

/* ---- objects ---- */

struct receive {
    uint64_t wr_id;
    int count;
    struct ibv_sge sge[16];
};

struct receives {
    struct receive *entries;
    unsigned int size, head, count;
};

struct send {
    struct ibv_send_wr wr;
    struct ibv_sge sge[16];
    /* The payload of an inline request, copied by the post. */
    uint8_t *inlined;
};

struct lb_qp {
    struct ibv_qp base;
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attr;
    int signal_all;
    struct receives receives;
    struct send *sends;
    unsigned int sends_head, sends_count;
    struct sink_queue *sink;
    uint32_t agreed;
    /* Of an XRC target. */
    struct ibv_xrcd *xrcd;
};

struct stamped {
    struct ibv_wc wc;
    /* By the clock of the day. */
    uint64_t nanoseconds;
};

struct lb_srq {
    struct ibv_srq base;
    struct receives receives;
    unsigned int limit;
    /* Of a queue for XRC: where receives complete, and the domain. */
    struct ibv_cq *cq;
    struct ibv_xrcd *xrcd;
};

struct lb_cq {
    union {
        struct ibv_cq base;
        struct ibv_cq_ex ex;
    };
    struct stamped *entries;
    /* Of an extended queue: what it is polled for, and the lock that a poll holds from its start to its end. */
    struct stamped current;
    pthread_spinlock_t polling;
    unsigned int head, count, size;
    /* 0: no event is asked for; 1: the next solicited one; 2: the next. */
    int armed;
    /* Events that ibv_get_cq_event has handed out. */
    unsigned int reported;
    struct sink_completions *sink;
};

struct lb_mr {
    struct ibv_mr base;
    uint64_t iova;
    unsigned int access;
    bool mapped;
    /* Windows that are bound to it. */
    unsigned int windows;
};

/* Remote requests see it as a region of its own, which has a key only while the window is bound. */
struct lb_mw {
    struct ibv_mw base;
    struct lb_mr view;
    struct lb_mr *bound;
    /* The present one. Whoever posts a bind of type 2 keeps that of the base the same. */
    uint32_t key;
};

/* Its descriptor is a semaphore that counts the events. */
struct lb_channel {
    struct ibv_comp_channel base;
    struct lb_cq **events;
    unsigned int size, count;
};

struct lb_ah {
    struct ibv_ah base;
    struct ibv_ah_attr attr;
};

static struct ibv_device device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;
static struct lb_qp *qps[MOST_QPS];
static unsigned int last_qp = 16;
static struct lb_mr *mrs[MOST_MRS];
/* Those of XRC, by their number. */
static struct lb_srq *srqs[MOST_SRQS];
static unsigned int last_mr;
static _Atomic unsigned int last_handle;

static void *made(size_t size)
{
    if (get(CALL_ERROR)) {
        errno = (int)get(CALL_ERROR);
        return NULL;
    }
    void *object = calloc(1, size);
    if (object)
        atomic_fetch_add(&settings[LIVE_OBJECTS].value, 1);
    return object;
}

/* Returns the errno that a call which destroys an object ends with; the object is to stay if it is not 0. */
static int destroying(void)
{
    atomic_fetch_add(&settings[DESTROY_CALLS].value, 1);
    int error = (int)get(DESTROY_ERROR);
    if (!error)
        atomic_fetch_sub(&settings[LIVE_OBJECTS].value, 1);
    return error;
}

/* ---- devices ---- */

EXPORT struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list = calloc(2, sizeof *list);
    device.node_type = (enum ibv_node_type)get(NODE_TYPE);
    device.transport_type = (enum ibv_transport_type)get(TRANSPORT);
    strcpy(device.name, "standin0");
    /* Without a path in sysfs, which libibverbs has of each device that the kernel has. */
    strcpy(device.dev_name, "none");
    list[0] = &device;
    if (count)
        *count = 1;
    return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *one)
{
    return one->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *one)
{
    (void)one;
    return htobe64(0x0200000000000001ULL);
}

EXPORT int ibv_get_device_index(struct ibv_device *one)
{
    (void)one;
    return -1;
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    if (get(CALL_ERROR))
        return (int)get(CALL_ERROR);
    memset(attr, 0, sizeof *attr);
    strcpy(attr->fw_ver, "stand-in");
    attr->node_guid = ibv_get_device_guid(context->device);
    attr->sys_image_guid = attr->node_guid;
    attr->max_mr_size = UINT64_MAX;
    attr->page_size_cap = 4096;
    attr->max_qp = MOST_QPS / 2;
    attr->max_qp_wr = 16384;
    attr->max_sge = (int)get(MAX_SGE);
    attr->max_cq = MOST_QPS;
    attr->max_cqe = 1 << 20;
    attr->max_mr = MOST_MRS / 2;
    attr->max_pd = MOST_QPS;
    attr->max_qp_rd_atom = 16;
    attr->max_qp_init_rd_atom = 16;
    attr->atomic_cap = (enum ibv_atomic_cap)get(ATOMICS);
    attr->max_ah = MOST_QPS;
    attr->max_srq = get(SRQ) ? MOST_QPS : 0;
    attr->max_srq_wr = get(SRQ) ? 16384 : 0;
    attr->max_srq_sge = get(SRQ) ? (int)get(MAX_SGE) : 0;
    attr->max_mw = get(WINDOWS) ? MOST_MRS / 2 : 0;
    attr->device_cap_flags = (get(WINDOWS) & 2 ? IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B : 0) |
                 (get(XRC) ? IBV_DEVICE_XRC : 0);
    attr->max_pkeys = (uint16_t)get(PKEYS);
    attr->phys_port_cnt = 1;
    return 0;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
               struct ibv_device_attr_ex *attr, size_t size)
{
    (void)input;
    memset(attr, 0, size);
    attr->odp_caps.general_caps = (uint64_t)get(PAGING);
    attr->completion_timestamp_mask = get(STAMPS) ? UINT64_MAX : 0;
    attr->hca_core_clock = get(STAMPS) ? 1000000 : 0;
    return ibv_query_device(context, &attr->orig_attr);
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
    (void)context;
    if (get(CALL_ERROR))
        return (int)get(CALL_ERROR);
    if (port != 1)
        return EINVAL;
    bool infiniband = get(LINK_LAYER) == IBV_LINK_LAYER_INFINIBAND;
    union {
        struct ibv_port_attr known;
        uint8_t bytes[64];
    } full = {0};
    full.known = (struct ibv_port_attr){
        .state = IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_4096,
        .gid_tbl_len = (int)get(GIDS),
        .max_msg_sz = 1U << 31,
        .pkey_tbl_len = (uint16_t)get(PKEYS),
        .lid = (uint16_t)get(LID),
        .sm_lid = (uint16_t)get(SM_LID),
        .lmc = (uint8_t)get(LMC),
        .max_vl_num = infiniband ? 4 : 1,
        .active_width = (uint8_t)get(WIDTH),
        /* The kernel tells 8 bits of the speed, and NDR for all that is faster. */
        .active_speed = (uint8_t)get(SPEED),
        .phys_state = 5,
        .link_layer = (uint8_t)get(LINK_LAYER),
    };
    /* Younger than the headers may be: uint32_t active_speed_ex, right behind what they have. */
    uint32_t speed_ex = (uint32_t)get(SPEED_EX);
    memcpy(full.bytes + 52, &speed_ex, sizeof speed_ex);
    memset(attr, 0, size);
    size_t known = (size_t)get(PORT_ATTR_SIZE);
    memcpy(attr, full.bytes, size < known ? size : known);
    return 0;
}

/* The old symbol, which knows the attributes up to the physical state. */
EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return query_port(context, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, link_layer));
}

static bool gid_is_there(int index)
{
    return index >= 0 && index < get(GIDS) && index % get(GID_STEP) == 0;
}

static void gid_of(int index, union ibv_gid *gid)
{
    memset(gid, 0, sizeof *gid);
    if (get(LINK_LAYER) == IBV_LINK_LAYER_INFINIBAND) {
        gid->global.subnet_prefix = htobe64(0xfe80000000000000ULL);
        gid->global.interface_id = htobe64(0x0200000000000001ULL + (uint64_t)index);
    } else {
        /* ::ffff:192.0.2.INDEX */
        memset(gid->raw + 10, 0xff, 2);
        gid->raw[12] = 192;
        gid->raw[14] = 2;
        gid->raw[15] = (uint8_t)index;
    }
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void)context;
    if (port != 1 || !gid_is_there(index)) {
        errno = EINVAL;
        return -1;
    }
    gid_of(index, gid);
    return 0;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most, uint32_t flags,
                    size_t size)
{
    (void)context;
    (void)flags;
    if (get(CALL_ERROR))
        return -get(CALL_ERROR);
    size_t found = 0;
    for (int i = 0; i < get(GIDS); i++) {
        if (!gid_is_there(i))
            continue;
        if (found == most)
            return -EINVAL;
        struct ibv_gid_entry *entry = (struct ibv_gid_entry *)((uint8_t *)entries + found++ * size);
        memset(entry, 0, size);
        gid_of(i, &entry->gid);
        entry->gid_index = (uint32_t)i;
        entry->port_num = 1;
        entry->gid_type = get(LINK_LAYER) == IBV_LINK_LAYER_INFINIBAND ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
    }
    return (ssize_t)found;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    (void)context;
    if (port != 1 || index < 0 || index >= get(PKEYS)) {
        errno = EINVAL;
        return -1;
    }
    /* Entry 0 is the default partition; the others have numbers of their own, and the last is not in use. */
    *pkey = htobe16(index == 0 ? 0xffff : index > 1 && index + 1 == get(PKEYS) ? 0 : 0x8000 | (index * 0x11));
    return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
    __be16 one;
    for (int i = 0; !ibv_query_pkey(context, port, i, &one); i++)
        if (one == pkey)
            return i;
    errno = EINVAL;
    return -1;
}

/* ---- completions ---- */

static void tell(struct lb_cq *cq)
{
    struct lb_channel *channel = (struct lb_channel *)cq->base.channel;
    cq->armed = 0;
    if (!channel)
        return;
    if (channel->count == channel->size) {
        channel->size = channel->size ? channel->size * 2 : 64;
        channel->events = realloc(channel->events, channel->size * sizeof *channel->events);
    }
    channel->events[channel->count++] = cq;
    eventfd_write(channel->base.fd, 1);
}

/* The lock is held. */
static void complete(struct ibv_cq *queue, const struct ibv_wc *wc, bool solicited)
{
    struct lb_cq *cq = (struct lb_cq *)queue;
    if (cq->count == cq->size)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    cq->entries[(cq->head + cq->count++) % cq->size] =
        (struct stamped){.wc = *wc, .nanoseconds = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
    if (cq->armed == 2 || (cq->armed == 1 && (solicited || wc->status != IBV_WC_SUCCESS)))
        tell(cq);
}

static int poll_cq(struct ibv_cq *queue, int most, struct ibv_wc *wc)
{
    if (get(POLL_RESULT))
        return (int)get(POLL_RESULT);
    struct lb_cq *cq = (struct lb_cq *)queue;
    int polled = 0;
    pthread_mutex_lock(&lock);
    for (; polled < most && cq->count; polled++, cq->count--) {
        wc[polled] = cq->entries[cq->head].wc;
        cq->head = (cq->head + 1) % cq->size;
    }
    pthread_mutex_unlock(&lock);
    return polled;
}

static int req_notify_cq(struct ibv_cq *queue, int solicited_only)
{
    struct lb_cq *cq = (struct lb_cq *)queue;
    pthread_mutex_lock(&lock);
    if (cq->armed < 2)
        cq->armed = solicited_only ? 1 : 2;
    pthread_mutex_unlock(&lock);
    return 0;
}

/*
 * ---- a sink ----
 *
 * What a provider for hardware does in user space for a post and a poll, and nothing else: one spin lock for each, a ring of
 * requests of 128 bytes, a doorbell with its fence, a ring of completions of 64 bytes. What the device does is only that a completion
 * appears. For measuring what a caller costs beside it. Queue pairs with the same completion queue are for one thread.
 */

static int sink_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

struct sink_request {
    uint32_t opcode, qpn, flags, immediate;
    uint64_t remote_address;
    uint32_t rkey, segments;
    union {
        struct ibv_sge sge[6];
        uint8_t inlined[96];
    } data;
};

struct sink_queue {
    pthread_spinlock_t lock;
    unsigned int mask, most, head;
    /* Moved by polls: room is made by completions, as with hardware. */
    _Atomic unsigned int tail;
    _Atomic unsigned int doorbell;
    uint64_t *wr_ids;
    struct sink_request requests[];
};

struct sink_completion {
    uint32_t qpn, request, opcode, length, status;
    _Atomic uint32_t turn;
    uint8_t unused[40];
};

struct sink_completions {
    pthread_spinlock_t lock;
    unsigned int mask, size, polled, produced;
    struct sink_completion ring[];
};

static unsigned int power_of_two(unsigned int least)
{
    unsigned int size = 1;
    while (size < least)
        size *= 2;
    return size;
}

static struct sink_queue *sink_queue(struct ibv_context *context, unsigned int most)
{
    if (context->ops.post_send != sink_post_send)
        return NULL;
    unsigned int size = power_of_two(most);
    struct sink_queue *queue = calloc(1, sizeof *queue + size * (sizeof *queue->requests + sizeof *queue->wr_ids));
    pthread_spin_init(&queue->lock, PTHREAD_PROCESS_PRIVATE);
    queue->mask = size - 1;
    queue->most = most;
    queue->wr_ids = (uint64_t *)(queue->requests + size);
    return queue;
}

static struct sink_completions *sink_completions(struct ibv_context *context, unsigned int least)
{
    if (context->ops.post_send != sink_post_send)
        return NULL;
    unsigned int size = power_of_two(least);
    struct sink_completions *completions = calloc(1, sizeof *completions + size * sizeof *completions->ring);
    pthread_spin_init(&completions->lock, PTHREAD_PROCESS_PRIVATE);
    completions->mask = size - 1;
    completions->size = size;
    return completions;
}

/* What the device does. A queue of completions that is full loses them. */
static void sink_complete(struct lb_cq *cq, uint32_t qpn, uint32_t request, uint32_t opcode, uint32_t length)
{
    struct sink_completions *completions = cq->sink;
    struct sink_completion *completion = &completions->ring[completions->produced & completions->mask];
    completion->qpn = qpn;
    completion->request = request;
    completion->opcode = opcode;
    completion->length = length;
    completion->status = IBV_WC_SUCCESS;
    /* It changes with each turn around the ring. A new ring has 0. */
    atomic_store_explicit(&completion->turn, !(completions->produced++ & completions->size), memory_order_release);
    if (cq->armed) {
        pthread_mutex_lock(&lock);
        if (cq->armed == 2)
            tell(cq);
        pthread_mutex_unlock(&lock);
    }
}

static int sink_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    static const uint32_t opcodes[] = {
        [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE, [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
        [IBV_WR_SEND] = IBV_WC_SEND, [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND, [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
    };
    struct lb_qp *qp = (struct lb_qp *)base;
    struct sink_queue *queue = qp->sink;
    int error = 0;
    pthread_spin_lock(&queue->lock);
    for (; wr; wr = wr->next) {
        bool inlined = wr->send_flags & IBV_SEND_INLINE;
        if (base->state != IBV_QPS_RTS || wr->opcode > IBV_WR_RDMA_READ || wr->num_sge > 6)
            error = EINVAL;
        else if (queue->head - atomic_load_explicit(&queue->tail, memory_order_acquire) >= queue->most)
            error = ENOMEM;
        if (error) {
            *bad = wr;
            break;
        }
        unsigned int at = queue->head & queue->mask;
        struct sink_request *request = &queue->requests[at];
        request->opcode = wr->opcode;
        request->qpn = base->qp_num;
        request->flags = wr->send_flags;
        request->immediate = wr->imm_data;
        if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM) {
            request->remote_address = wr->wr.rdma.remote_addr;
            request->rkey = wr->wr.rdma.rkey;
        }
        request->segments = (uint32_t)wr->num_sge;
        uint32_t length = 0;
        for (int i = 0; i < wr->num_sge; i++) {
            const struct ibv_sge *sge = &wr->sg_list[i];
            if (!inlined) {
                request->data.sge[i] = *sge;
            } else if (length + sge->length <= sizeof request->data.inlined) {
                memcpy(request->data.inlined + length, (void *)(uintptr_t)sge->addr, sge->length);
            } else {
                error = EINVAL;
                break;
            }
            length += sge->length;
        }
        if (error) {
            *bad = wr;
            break;
        }
        queue->wr_ids[at] = wr->wr_id;
        if (qp->signal_all || (wr->send_flags & IBV_SEND_SIGNALED))
            sink_complete((struct lb_cq *)base->send_cq, base->qp_num, queue->head, opcodes[wr->opcode], length);
        queue->head++;
    }
    atomic_store_explicit(&queue->doorbell, queue->head, memory_order_release);
    /* As a doorbell in the device's memory has one before it or behind it. */
    atomic_thread_fence(memory_order_seq_cst);
    pthread_spin_unlock(&queue->lock);
    return error;
}

static int sink_poll_cq(struct ibv_cq *base, int most, struct ibv_wc *wc)
{
    struct sink_completions *completions = ((struct lb_cq *)base)->sink;
    int polled = 0;
    pthread_spin_lock(&completions->lock);
    for (; polled < most; polled++, wc++) {
        struct sink_completion *completion = &completions->ring[completions->polled & completions->mask];
        uint32_t turn = !(completions->polled & completions->size);
        if (atomic_load_explicit(&completion->turn, memory_order_acquire) != turn)
            break;
        struct sink_queue *queue = qps[completion->qpn % MOST_QPS]->sink;
        wc->wr_id = queue->wr_ids[completion->request & queue->mask];
        wc->status = (enum ibv_wc_status)completion->status;
        wc->opcode = (enum ibv_wc_opcode)completion->opcode;
        wc->byte_len = completion->length;
        wc->qp_num = completion->qpn;
        wc->wc_flags = 0;
        atomic_store_explicit(&queue->tail, completion->request + 1, memory_order_release);
        completions->polled++;
    }
    pthread_spin_unlock(&completions->lock);
    return polled;
}

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct lb_channel *channel = made(sizeof *channel);
    if (!channel)
        return NULL;
    channel->base.context = context;
    channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    return &channel->base;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
    struct lb_channel *channel = (struct lb_channel *)base;
    int error = destroying();
    if (error)
        return error;
    close(base->fd);
    free(channel->events);
    free(channel);
    return 0;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq, void **context)
{
    struct lb_channel *channel = (struct lb_channel *)base;
    eventfd_t one;
    if (eventfd_read(base->fd, &one))
        return -1;
    pthread_mutex_lock(&lock);
    int result = channel->count ? 0 : -1;
    if (!result) {
        struct lb_cq *first = channel->events[0];
        memmove(channel->events, channel->events + 1, --channel->count * sizeof *channel->events);
        first->reported++;
        *cq = &first->base;
        *context = first->base.cq_context;
    }
    pthread_mutex_unlock(&lock);
    errno = EAGAIN;
    return result;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
    pthread_mutex_lock(&lock);
    cq->comp_events_completed += events;
    pthread_cond_broadcast(&acknowledged);
    pthread_mutex_unlock(&lock);
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                    int vector)
{
    if (vector < 0 || vector >= context->num_comp_vectors) {
        errno = EINVAL;
        return NULL;
    }
    atomic_store(&settings[VECTOR].value, vector);
    struct lb_cq *cq = made(sizeof *cq);
    if (!cq)
        return NULL;
    cq->size = (unsigned int)cqe;
    cq->entries = calloc(cq->size, sizeof *cq->entries);
    cq->base.context = context;
    cq->base.channel = channel;
    cq->base.cq_context = cq_context;
    cq->base.cqe = cqe;
    cq->base.handle = ++last_handle;
    cq->sink = sink_completions(context, cq->size);
    return &cq->base;
}

/* ---- extended completion queues ---- */

static int next_poll(struct ibv_cq_ex *ex)
{
    struct lb_cq *cq = (struct lb_cq *)ex;
    int result = ENOENT;
    pthread_mutex_lock(&lock);
    if (cq->count) {
        cq->current = cq->entries[cq->head];
        cq->head = (cq->head + 1) % cq->size;
        cq->count--;
        ex->status = cq->current.wc.status;
        ex->wr_id = cq->current.wc.wr_id;
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static int next_poll_or_fail(struct ibv_cq_ex *ex)
{
    return get(NEXT_RESULT) ? (int)get(NEXT_RESULT) : next_poll(ex);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
    struct lb_cq *cq = (struct lb_cq *)ex;
    if (attr->comp_mask)
        return EINVAL;
    if (get(POLL_RESULT))
        return (int)get(POLL_RESULT);
    pthread_spin_lock(&cq->polling);
    int result = next_poll(ex);
    if (result)
        pthread_spin_unlock(&cq->polling);
    return result;
}

static void end_poll(struct ibv_cq_ex *ex)
{
    pthread_spin_unlock(&((struct lb_cq *)ex)->polling);
}

#define READ(type, field) \
    static type read_##field(struct ibv_cq_ex *ex) \
    { \
        return ((struct lb_cq *)ex)->current.wc.field; \
    }
READ(enum ibv_wc_opcode, opcode)
READ(uint32_t, vendor_err)
READ(uint32_t, byte_len)
READ(__be32, imm_data)
READ(uint32_t, qp_num)
READ(uint32_t, src_qp)
READ(unsigned int, wc_flags)
READ(uint32_t, slid)
READ(uint8_t, sl)
READ(uint8_t, dlid_path_bits)

static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
    return ((struct lb_cq *)ex)->current.nanoseconds;
}

/* The device was switched on at a round time. */
enum { SWITCHED_ON = 1000000000 };

static uint64_t read_ticks(struct ibv_cq_ex *ex)
{
    return read_wallclock(ex) - SWITCHED_ON * 1000000000ULL;
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    (void)context;
    if (!get(STAMPS))
        return EOPNOTSUPP;
    if (values->comp_mask != IBV_VALUES_MASK_RAW_CLOCK)
        return EINVAL;
    clock_gettime(CLOCK_REALTIME, &values->raw_clock);
    values->raw_clock.tv_sec -= SWITCHED_ON;
    return 0;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
    uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    if (init->comp_mask || (init->wc_flags & ~(IBV_WC_STANDARD_FLAGS | (get(STAMPS) ? stamps : 0)))) {
        errno = EINVAL;
        return NULL;
    }
    if (init->wc_flags & (uint64_t)get(REFUSED_WC)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_cq *base =
        ibv_create_cq(context, (int)init->cqe, init->cq_context, init->channel, (int)init->comp_vector);
    if (!base)
        return NULL;
    struct ibv_cq_ex *ex = &((struct lb_cq *)base)->ex;
    pthread_spin_init(&((struct lb_cq *)base)->polling, PTHREAD_PROCESS_PRIVATE);
    ex->start_poll = start_poll;
    ex->next_poll = next_poll_or_fail;
    ex->end_poll = end_poll;
    ex->read_opcode = read_opcode;
    ex->read_vendor_err = read_vendor_err;
    ex->read_byte_len = read_byte_len;
    ex->read_imm_data = read_imm_data;
    ex->read_qp_num = read_qp_num;
    ex->read_src_qp = read_src_qp;
    ex->read_wc_flags = read_wc_flags;
    ex->read_sl = read_sl;
    /* Only what was asked for may be read. */
    if (init->wc_flags & IBV_WC_EX_WITH_SLID)
        ex->read_slid = read_slid;
    if (init->wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
        ex->read_dlid_path_bits = read_dlid_path_bits;
    if (init->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
        ex->read_completion_ts = read_ticks;
    if (init->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
        ex->read_completion_wallclock_ns = read_wallclock;
    return ex;
}

EXPORT int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
    struct lb_cq *cq = (struct lb_cq *)base;
    pthread_mutex_lock(&lock);
    int error = cqe < (int)cq->count ? EINVAL : (int)get(CALL_ERROR);
    if (!error) {
        struct stamped *entries = calloc((size_t)cqe, sizeof *entries);
        for (unsigned int i = 0; i < cq->count; i++)
            entries[i] = cq->entries[(cq->head + i) % cq->size];
        free(cq->entries);
        cq->entries = entries;
        cq->head = 0;
        cq->size = (unsigned int)cqe;
        base->cqe = cqe;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *base)
{
    struct lb_cq *cq = (struct lb_cq *)base;
    int error = destroying();
    if (error)
        return error;
    /* Events that nobody has read are taken back. It waits until those that were read are acknowledged (ibv_get_cq_event(3)). */
    pthread_mutex_lock(&lock);
    struct lb_channel *channel = (struct lb_channel *)base->channel;
    unsigned int kept = 0;
    eventfd_t one;
    for (unsigned int i = 0; channel && i < channel->count; i++)
        if (channel->events[i] != cq)
            channel->events[kept++] = channel->events[i];
        else
            eventfd_read(base->channel->fd, &one);
    if (channel)
        channel->count = kept;
    while (base->comp_events_completed != cq->reported)
        pthread_cond_wait(&acknowledged, &lock);
    pthread_mutex_unlock(&lock);
    free(cq->sink);
    free(cq->entries);
    free(cq);
    return 0;
}

/* ---- memory ---- */

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = made(sizeof *pd);
    if (pd) {
        pd->context = context;
        pd->handle = ++last_handle;
    }
    return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
    int error = destroying();
    if (!error)
        free(pd);
    return error;
}

/* The lock is held. */
static unsigned int free_key(void)
{
    unsigned int key = last_mr;
    do
        key = (key + 1) % MOST_MRS;
    while (mrs[key] || !key);
    return last_mr = key;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
    unsigned int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if ((access & (unsigned int)get(REFUSED_ACCESS)) || ((access & remote) && !(access & IBV_ACCESS_LOCAL_WRITE))) {
        errno = access & (unsigned int)get(REFUSED_ACCESS) ? EOPNOTSUPP : EINVAL;
        return NULL;
    }
    if (access & IBV_ACCESS_ON_DEMAND && !(get(PAGING) & (length == SIZE_MAX ? IBV_ODP_SUPPORT_IMPLICIT : IBV_ODP_SUPPORT))) {
        errno = EINVAL;
        return NULL;
    }
    struct lb_mr *mr = made(sizeof *mr);
    if (!mr)
        return NULL;
    pthread_mutex_lock(&lock);
    unsigned int key = free_key();
    mr->base = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = length, .handle = key,
                   .lkey = key << 8, .rkey = key << 8 | 1};
    mr->iova = iova;
    mr->access = access;
    mrs[key] = mr;
    pthread_mutex_unlock(&lock);
    return &mr->base;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
    return ibv_reg_mr_iova2(pd, address, length, iova, (unsigned int)access);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

/* What a device does with the memory of another one: it maps it. */
EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
    if (!get(DMABUF)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    void *mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (mapped == MAP_FAILED)
        return NULL;
    struct ibv_mr *mr = ibv_reg_mr_iova2(pd, mapped, length, iova, (unsigned int)access);
    if (mr)
        ((struct lb_mr *)mr)->mapped = true;
    else
        munmap(mapped, length);
    return mr;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
    if (((struct lb_mr *)mr)->windows)
        return EBUSY;
    int error = destroying();
    if (!error && ((struct lb_mr *)mr)->mapped)
        munmap(mr->addr, mr->length);
    pthread_mutex_lock(&lock);
    /* Of a device that is gone nothing reaches the memory any more. */
    mrs[mr->handle] = NULL;
    pthread_mutex_unlock(&lock);
    if (!error)
        free(mr);
    return error;
}

/* Returns where registered memory lies; null if the key or the access does not cover it. The lock is held. */
static uint8_t *memory(uint32_t key, bool remote, uint64_t address, uint64_t length, unsigned int access)
{
    struct lb_mr *mr = mrs[(key >> 8) % MOST_MRS];
    if (!mr || key != (remote ? mr->base.rkey : mr->base.lkey) || (mr->access & access) != access)
        return NULL;
    if (address < mr->iova || length > mr->base.length || address - mr->iova > mr->base.length - length)
        return NULL;
    return (uint8_t *)mr->base.addr + (address - mr->iova);
}

static uint64_t length_of(const struct ibv_sge *sge, int count)
{
    uint64_t length = 0;
    for (int i = 0; i < count; i++)
        length += sge[i].length;
    return length;
}

/* Copies between a list of segments and plain memory; false if a segment is not covered by its region. The lock is held. */
static bool copy(const struct ibv_sge *sge, int count, uint8_t *plain, uint64_t length, bool to_segments)
{
    for (int i = 0; i < count && length; i++) {
        uint64_t part = sge[i].length < length ? sge[i].length : length;
        uint8_t *at = memory(sge[i].lkey, false, sge[i].addr, part, to_segments ? IBV_ACCESS_LOCAL_WRITE : 0);
        if (!at)
            return false;
        memmove(to_segments ? at : plain, to_segments ? plain : at, part);
        plain += part;
        length -= part;
    }
    return true;
}

/* ---- memory windows ---- */

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct lb_mw *mw = get(WINDOWS) & type ? made(sizeof *mw) : NULL;
    if (!mw) {
        errno = EINVAL;
        return NULL;
    }
    pthread_mutex_lock(&lock);
    unsigned int key = free_key();
    mrs[key] = &mw->view;
    mw->base = (struct ibv_mw){.context = pd->context, .pd = pd, .rkey = key << 8, .handle = key, .type = type};
    mw->key = mw->base.rkey;
    pthread_mutex_unlock(&lock);
    return &mw->base;
}

/* The lock is held. */
static void unbind(struct lb_mw *mw)
{
    if (mw->bound)
        mw->bound->windows--;
    mw->bound = NULL;
    mw->view = (struct lb_mr){0};
}

/* The lock is held. */
static bool bind(struct lb_mw *mw, uint32_t key, const struct ibv_mw_bind_info *info)
{
    struct lb_mr *mr = (struct lb_mr *)info->mr;
    if (mw->base.type == IBV_MW_TYPE_1)
        unbind(mw);
    else if (mw->bound || key == mw->key || mw->base.rkey != mw->key)
        return false;
    mw->key = key;
    if (mw->base.type == IBV_MW_TYPE_1)
        mw->base.rkey = key;
    if (!info->length)
        return mw->base.type == IBV_MW_TYPE_1;
    if (!(mr->access & IBV_ACCESS_MW_BIND) || key >> 8 != mw->base.handle || info->addr < mr->iova ||
        info->addr - mr->iova > mr->base.length - info->length)
        return false;
    mw->bound = mr;
    mr->windows++;
    mw->view.base = (struct ibv_mr){.addr = (uint8_t *)mr->base.addr + (info->addr - mr->iova), .length = info->length, .rkey = key};
    mw->view.iova = info->addr;
    mw->view.access = info->mw_access_flags;
    return true;
}

/* Whether there was a window of type 2 with this key. The lock is held. */
static bool invalidate(uint32_t key)
{
    struct lb_mr *view = mrs[(key >> 8) % MOST_MRS];
    if (!view || view->base.rkey != key || view->base.lkey)
        return false;
    struct lb_mw *mw = (struct lb_mw *)((uint8_t *)view - offsetof(struct lb_mw, view));
    if (mw->base.type != IBV_MW_TYPE_2)
        return false;
    unbind(mw);
    return true;
}

static int dealloc_mw(struct ibv_mw *base)
{
    struct lb_mw *mw = (struct lb_mw *)base;
    int error = destroying();
    if (error)
        return error;
    pthread_mutex_lock(&lock);
    unbind(mw);
    mrs[base->handle] = NULL;
    pthread_mutex_unlock(&lock);
    free(mw);
    return 0;
}

/* ---- queue pairs ---- */

static void complete_send(struct lb_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status, uint64_t length)
{
    static const enum ibv_wc_opcode opcodes[] = {
        [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE, [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
        [IBV_WR_SEND] = IBV_WC_SEND, [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND, [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
        [IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP, [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
        [IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV, [IBV_WR_BIND_MW] = IBV_WC_BIND_MW, [IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
    };
    if (status == IBV_WC_SUCCESS && !qp->signal_all && !(wr->send_flags & IBV_SEND_SIGNALED))
        return;
    struct ibv_wc wc = {.wr_id = wr->wr_id, .status = status, .opcode = opcodes[wr->opcode], .byte_len = (uint32_t)length,
                .qp_num = qp->base.qp_num};
    complete(qp->base.send_cq, &wc, false);
}

static struct lb_srq *xrc_srq(const struct lb_qp *to, const struct ibv_send_wr *wr)
{
    uint32_t number = wr->qp_type.xrc.remote_srqn;
    struct lb_srq *srq = number < MOST_SRQS ? srqs[number] : NULL;
    return srq && srq->xrcd == to->xrcd ? srq : NULL;
}

static struct receives *receives_of(struct lb_qp *qp, const struct ibv_send_wr *wr)
{
    if (qp->base.qp_type == IBV_QPT_XRC_RECV)
        return &xrc_srq(qp, wr)->receives;
    return qp->base.srq ? &((struct lb_srq *)qp->base.srq)->receives : &qp->receives;
}

static void to_error(struct lb_qp *qp)
{
    qp->base.state = qp->attr.qp_state = IBV_QPS_ERR;
    for (; qp->sends_count; qp->sends_count--) {
        struct send *send = &qp->sends[qp->sends_head];
        qp->sends_head = (qp->sends_head + 1) % qp->cap.max_send_wr;
        complete_send(qp, &send->wr, IBV_WC_WR_FLUSH_ERR, 0);
        free(send->inlined);
    }
    for (; qp->receives.count; qp->receives.count--) {
        struct ibv_wc wc = {.wr_id = qp->receives.entries[qp->receives.head].wr_id, .status = IBV_WC_WR_FLUSH_ERR,
                    .opcode = IBV_WC_RECV, .qp_num = qp->base.qp_num};
        qp->receives.head = (qp->receives.head + 1) % qp->receives.size;
        complete(qp->base.recv_cq, &wc, false);
    }
}

/* What a message needs to be delivered into a receive; takes one. */
static enum ibv_wc_status deliver(struct lb_qp *from, struct lb_qp *to, const struct ibv_send_wr *wr, uint8_t *payload,
                  uint64_t length, bool into)
{
    struct receives *receives = receives_of(to, wr);
    struct receive *receive = &receives->entries[receives->head];
    receives->head = (receives->head + 1) % receives->size;
    receives->count--;
    bool datagram = to->base.qp_type == IBV_QPT_UD;
    bool immediate = wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct ibv_wc wc = {
        .wr_id = receive->wr_id, .opcode = into ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM,
        .byte_len = (uint32_t)(length + (datagram ? GRH : 0)), .qp_num = to->base.qp_num, .src_qp = from->base.qp_num,
        .wc_flags = (immediate ? IBV_WC_WITH_IMM : 0) | (datagram ? IBV_WC_GRH : 0),
    };
    if (immediate)
        wc.imm_data = wr->imm_data;
    if (wr->opcode == IBV_WR_SEND_WITH_INV) {
        wc.wc_flags |= IBV_WC_WITH_INV;
        wc.invalidated_rkey = wr->invalidate_rkey;
        if (!invalidate(wr->invalidate_rkey)) {
            to_error(to);
            return IBV_WC_REM_ACCESS_ERR;
        }
    }
    if (into && wc.byte_len > length_of(receive->sge, receive->count))
        wc.status = IBV_WC_LOC_LEN_ERR;
    else if (into && !copy(receive->sge, receive->count, payload, wc.byte_len, true))
        wc.status = IBV_WC_LOC_PROT_ERR;
    struct ibv_cq *queue = to->base.qp_type == IBV_QPT_XRC_RECV ? xrc_srq(to, wr)->cq : to->base.recv_cq;
    complete(queue, &wc, wr->send_flags & IBV_SEND_SOLICITED);
    if (wc.status == IBV_WC_SUCCESS)
        return IBV_WC_SUCCESS;
    to_error(to);
    return wc.status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
}

static bool takes_receive(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_SEND_WITH_INV ||
           opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Carries out one request of a connected queue pair whose target has a receive for it if it needs one. */
static enum ibv_wc_status carry(struct lb_qp *from, struct lb_qp *to, struct send *send, uint64_t length)
{
    struct ibv_send_wr *wr = &send->wr;
    bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    unsigned int access = atomic ? IBV_ACCESS_REMOTE_ATOMIC : wr->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ
                     : IBV_ACCESS_REMOTE_WRITE;
    uint64_t address = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
    uint32_t key = atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;
    bool sends = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_SEND_WITH_INV;
    uint8_t *remote = NULL;
    if (!sends && length) {
        remote = (to->attr.qp_access_flags & access) ? memory(key, true, address, length, access) : NULL;
        if (!remote)
            return IBV_WC_REM_ACCESS_ERR;
    }
    if (atomic) {
        uint64_t before;
        if (address % 8)
            return IBV_WC_REM_INV_REQ_ERR;
        memcpy(&before, remote, sizeof before);
        if (!copy(wr->sg_list, wr->num_sge, (uint8_t *)&before, sizeof before, true))
            return IBV_WC_LOC_PROT_ERR;
        uint64_t after = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? before + wr->wr.atomic.compare_add
                   : before == wr->wr.atomic.compare_add ? wr->wr.atomic.swap : before;
        memcpy(remote, &after, sizeof after);
        return IBV_WC_SUCCESS;
    }
    if (wr->opcode == IBV_WR_RDMA_READ)
        return copy(wr->sg_list, wr->num_sge, remote, length, true) ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
    uint8_t *payload = send->inlined;
    uint8_t *gathered = NULL;
    if (!payload && wr->num_sge == 1) {
        payload = memory(wr->sg_list->lkey, false, wr->sg_list->addr, length, 0);
        if (!payload)
            return IBV_WC_LOC_PROT_ERR;
    } else if (!payload && wr->num_sge) {
        payload = gathered = malloc(length + 1);
        if (!copy(wr->sg_list, wr->num_sge, payload, length, false)) {
            free(gathered);
            return IBV_WC_LOC_PROT_ERR;
        }
    }
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    if (!sends && length)
        memmove(remote, payload, length);
    if (takes_receive(wr->opcode))
        status = deliver(from, to, wr, payload, length, sends);
    free(gathered);
    return status;
}

/* A datagram that nobody can take is lost. */
static enum ibv_wc_status carry_datagram(struct lb_qp *from, struct send *send, uint64_t length)
{
    struct ibv_send_wr *wr = &send->wr;
    uint8_t *whole = calloc(1, GRH + length + 1);
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    if (send->inlined)
        memcpy(whole + GRH, send->inlined, length);
    else if (!copy(wr->sg_list, wr->num_sge, whole + GRH, length, false))
        status = IBV_WC_LOC_PROT_ERR;
    struct lb_qp *to = qps[wr->wr.ud.remote_qpn % MOST_QPS];
    if (status == IBV_WC_SUCCESS && to && to->base.qp_type == IBV_QPT_UD && to->base.state >= IBV_QPS_RTR &&
        to->base.state <= IBV_QPS_RTS && to->attr.qkey == wr->wr.ud.remote_qkey && receives_of(to, wr)->count)
        deliver(from, to, wr, whole, length, true);
    free(whole);
    return status;
}

static bool is_local(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
}

static enum ibv_wc_status carry_out_here(const struct ibv_send_wr *wr)
{
    if (wr->opcode == IBV_WR_LOCAL_INV)
        return invalidate(wr->invalidate_rkey) ? IBV_WC_SUCCESS : IBV_WC_LOC_QP_OP_ERR;
    return bind((struct lb_mw *)wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info) ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}

/* Carries out what is at the head of the send queue, until something has to wait for a receive. The lock is held. */
static void progress(struct lb_qp *qp)
{
    while (qp->sends_count && qp->base.state == IBV_QPS_RTS) {
        struct send *head = &qp->sends[qp->sends_head];
        bool datagram = qp->base.qp_type == IBV_QPT_UD;
        /* Nobody hears of a message that can't be delivered. */
        bool unreliable = qp->base.qp_type == IBV_QPT_UC;
        struct lb_qp *to = datagram ? NULL : qps[qp->attr.dest_qp_num % MOST_QPS];
        bool there = to && to->base.state >= IBV_QPS_RTR && to->base.state <= IBV_QPS_RTS &&
                 to->attr.dest_qp_num == qp->base.qp_num;
        bool astray = there && to->base.qp_type == IBV_QPT_XRC_RECV && !xrc_srq(to, &head->wr);
        bool ready = datagram || !takes_receive(head->wr.opcode) || (there && !astray && receives_of(to, &head->wr)->count);
        if (there && !astray && !ready && qp->attr.rnr_retry == 7)
            return;
        struct send send = *head;
        send.wr.sg_list = send.sge;
        qp->sends_head = (qp->sends_head + 1) % qp->cap.max_send_wr;
        qp->sends_count--;
        uint64_t length = length_of(send.sge, send.wr.num_sge);
        enum ibv_wc_status status = is_local(send.wr.opcode) ? carry_out_here(&send.wr)
                        : datagram ? carry_datagram(qp, &send, length)
                        : unreliable && (!there || !ready) ? IBV_WC_SUCCESS
                        : !there ? IBV_WC_RETRY_EXC_ERR
                        : astray ? IBV_WC_REM_INV_REQ_ERR
                        : ready  ? carry(qp, to, &send, length)
                             : IBV_WC_RNR_RETRY_EXC_ERR;
        complete_send(qp, &send.wr, status, length);
        free(send.inlined);
        if (status == IBV_WC_REM_ACCESS_ERR)
            to_error(to);
        if (status != IBV_WC_SUCCESS)
            to_error(qp);
    }
}

static int refused(void *first, void **bad, size_t next)
{
    void *at = first;
    for (long i = 0; at && i < get(POST_BAD); i++)
        at = *(void **)((uint8_t *)at + next);
    *bad = get(POST_BAD) < 0 ? NULL : at;
    return (int)get(POST_RESULT);
}

/* mlx4 and mlx5 lock the completion queue to look again when the queue of the queue pair is full. */
static void look_again(struct ibv_cq *base)
{
    struct lb_cq *cq = (struct lb_cq *)base;
    if (!cq->ex.start_poll)
        return;
    pthread_spin_lock(&cq->polling);
    pthread_spin_unlock(&cq->polling);
}

static int post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    if (get(POST_RESULT))
        return refused(wr, (void **)bad, offsetof(struct ibv_send_wr, next));
    struct lb_qp *qp = (struct lb_qp *)base;
    int error = 0;
    pthread_mutex_lock(&lock);
    for (; wr; wr = wr->next) {
        uint64_t length = length_of(wr->sg_list, wr->num_sge);
        bool inlined = wr->send_flags & IBV_SEND_INLINE;
        if (base->state < IBV_QPS_RTS || wr->opcode > IBV_WR_SEND_WITH_INV ||
            wr->num_sge > (int)qp->cap.max_send_sge || (inlined && length > qp->cap.max_inline_data))
            error = EINVAL;
        else if (qp->sends_count == qp->cap.max_send_wr)
            error = ENOMEM;
        if (error) {
            *bad = wr;
            break;
        }
        struct send *send = &qp->sends[(qp->sends_head + qp->sends_count++) % qp->cap.max_send_wr];
        send->wr = *wr;
        send->inlined = NULL;
        if (wr->num_sge)
            memcpy(send->sge, wr->sg_list, (size_t)wr->num_sge * sizeof *wr->sg_list);
        send->wr.sg_list = send->sge;
        if (inlined) {
            uint8_t *at = send->inlined = malloc(length + 1);
            for (int i = 0; i < wr->num_sge; at += wr->sg_list[i++].length)
                memcpy(at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
        }
        if (base->state == IBV_QPS_ERR)
            to_error(qp);
        else
            progress(qp);
    }
    pthread_mutex_unlock(&lock);
    if (error == ENOMEM)
        look_again(base->send_cq);
    return error;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *info)
{
    struct ibv_send_wr wr = {.wr_id = info->wr_id, .opcode = IBV_WR_BIND_MW, .send_flags = info->send_flags};
    struct ibv_send_wr *bad;
    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
    wr.bind_mw.bind_info = info->bind_info;
    return post_send(qp, &wr, &bad);
}

static int receive_into(struct receives *receives, struct ibv_recv_wr *wr)
{
    if (receives->count == receives->size)
        return ENOMEM;
    if (wr->num_sge > 16)
        return EINVAL;
    struct receive *receive = &receives->entries[(receives->head + receives->count++) % receives->size];
    receive->wr_id = wr->wr_id;
    receive->count = wr->num_sge;
    if (wr->num_sge)
        memcpy(receive->sge, wr->sg_list, (size_t)wr->num_sge * sizeof *wr->sg_list);
    return 0;
}

static int post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    if (get(POST_RESULT))
        return refused(wr, (void **)bad, offsetof(struct ibv_recv_wr, next));
    struct lb_qp *qp = (struct lb_qp *)base;
    int error = 0;
    pthread_mutex_lock(&lock);
    for (; wr && !error; wr = error ? wr : wr->next) {
        error = base->state == IBV_QPS_RESET ? EINVAL : receive_into(&qp->receives, wr);
        if (error)
            *bad = wr;
        else if (base->state == IBV_QPS_ERR)
            to_error(qp);
    }
    struct lb_qp *peer = qps[qp->attr.dest_qp_num % MOST_QPS];
    if (peer && base->qp_type != IBV_QPT_UD)
        progress(peer);
    pthread_mutex_unlock(&lock);
    if (error == ENOMEM)
        look_again(base->recv_cq);
    return error;
}

static int post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    if (get(POST_RESULT))
        return refused(wr, (void **)bad, offsetof(struct ibv_recv_wr, next));
    struct lb_srq *srq = (struct lb_srq *)base;
    int error = 0;
    pthread_mutex_lock(&lock);
    for (; wr && !error; wr = error ? wr : wr->next) {
        error = receive_into(&srq->receives, wr);
        if (error)
            *bad = wr;
    }
    for (unsigned int i = 0; i < MOST_QPS; i++)
        if (qps[i] && qps[i]->sends_count)
            progress(qps[i]);
    pthread_mutex_unlock(&lock);
    return error;
}

static bool room(struct receives *receives, uint32_t size)
{
    receives->size = size ? size : 1;
    receives->entries = calloc(receives->size, sizeof *receives->entries);
    return receives->entries;
}

static struct ibv_qp *create_qp(struct ibv_context *device_context, struct ibv_pd *pd, void *context, struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
                struct ibv_srq *srq, struct ibv_qp_cap *cap, enum ibv_qp_type type, int signal_all)
{
    if (type == IBV_QPT_RC && !get(RC)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    bool xrc = type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
    if ((type != IBV_QPT_RC && type != IBV_QPT_UC && type != IBV_QPT_UD && !(xrc && get(XRC))) || cap->max_send_sge > get(MAX_SGE) ||
        cap->max_recv_sge > get(MAX_SGE) || cap->max_send_wr > 16384 || cap->max_recv_wr > 16384 ||
        cap->max_inline_data > 256) {
        errno = EINVAL;
        return NULL;
    }
    struct lb_qp *qp = made(sizeof *qp);
    if (!qp)
        return NULL;
    cap->max_send_wr = cap->max_send_wr ? cap->max_send_wr : 1;
    qp->cap = *cap;
    qp->sends = calloc(cap->max_send_wr, sizeof *qp->sends);
    room(&qp->receives, cap->max_recv_wr);
    qp->signal_all = signal_all;
    pthread_mutex_lock(&lock);
    do
        last_qp = (last_qp + 1) % MOST_QPS;
    while (qps[last_qp] || last_qp < 2);
    qps[last_qp] = qp;
    qp->base.qp_num = last_qp;
    pthread_mutex_unlock(&lock);
    qp->base.context = device_context;
    qp->base.qp_context = context;
    qp->base.pd = pd;
    qp->base.send_cq = send_cq;
    qp->base.recv_cq = recv_cq;
    qp->base.srq = srq;
    qp->base.handle = ++last_handle;
    qp->base.state = IBV_QPS_RESET;
    qp->base.qp_type = type;
    qp->sink = sink_queue(device_context, cap->max_send_wr);
    return &qp->base;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    return create_qp(pd->context, pd, init->qp_context, init->send_cq, init->recv_cq, init->srq, &init->cap, init->qp_type,
             init->sq_sig_all);
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
    struct ibv_qp *qp = create_qp(context, init->pd, init->qp_context, init->send_cq, init->recv_cq, init->srq, &init->cap,
                      init->qp_type, init->sq_sig_all);
    if (qp && init->comp_mask & IBV_QP_INIT_ATTR_XRCD)
        ((struct lb_qp *)qp)->xrcd = init->xrcd;
    return qp;
}

static void record(enum ibv_qp_type type, const struct ibv_qp_attr *attr)
{
    const char *file = getenv("LOOPBACK_RECORD");
    FILE *out = file ? fopen(file, "a") : NULL;
    if (!out)
        return;
    if (attr->qp_state == IBV_QPS_INIT)
        fprintf(out, "INIT type=%d port=%d pkey_index=%d qkey=0x%x\n", type, attr->port_num, attr->pkey_index, attr->qkey);
    else if (attr->qp_state == IBV_QPS_RTR)
        fprintf(out, "RTR type=%d is_global=%d dlid=%d sl=%d mtu=%d\n", type, attr->ah_attr.is_global, attr->ah_attr.dlid,
                attr->ah_attr.sl, attr->path_mtu);
    fclose(out);
}

EXPORT int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    static const struct {
        int bit;
        size_t offset, size;
    } fields[] = {
#define FIELD(bit, name) {bit, offsetof(struct ibv_qp_attr, name), sizeof attr->name}
        FIELD(IBV_QP_ACCESS_FLAGS, qp_access_flags), FIELD(IBV_QP_PKEY_INDEX, pkey_index), FIELD(IBV_QP_PORT, port_num),
        FIELD(IBV_QP_QKEY, qkey), FIELD(IBV_QP_AV, ah_attr), FIELD(IBV_QP_PATH_MTU, path_mtu),
        FIELD(IBV_QP_TIMEOUT, timeout), FIELD(IBV_QP_RETRY_CNT, retry_cnt), FIELD(IBV_QP_RNR_RETRY, rnr_retry),
        FIELD(IBV_QP_RQ_PSN, rq_psn), FIELD(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
        FIELD(IBV_QP_MIN_RNR_TIMER, min_rnr_timer), FIELD(IBV_QP_SQ_PSN, sq_psn),
        FIELD(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic), FIELD(IBV_QP_DEST_QPN, dest_qp_num),
#undef FIELD
    };
    struct lb_qp *qp = (struct lb_qp *)base;
    if (get(CALL_ERROR))
        return (int)get(CALL_ERROR);
    if ((mask & IBV_QP_ACCESS_FLAGS) && (attr->qp_access_flags & (unsigned int)get(REFUSED_ACCESS)))
        return EOPNOTSUPP;
    if ((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index >= get(PKEYS))
        return EINVAL;
    /* What a service does not have, it refuses. */
    int of_responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    int of_requester = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    int refused = base->qp_type == IBV_QPT_UC ? of_responder | of_requester | IBV_QP_TIMEOUT
              : base->qp_type == IBV_QPT_XRC_SEND ? of_responder
              : base->qp_type == IBV_QPT_XRC_RECV ? of_requester
                                  : 0;
    if (mask & refused)
        return EINVAL;
    enum ibv_qp_state from = base->state;
    enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
    bool allowed = to == from || to == IBV_QPS_RESET || to == IBV_QPS_ERR || (from < IBV_QPS_RTS && to == from + 1);
    if (!allowed)
        return EINVAL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (mask & fields[i].bit)
            memcpy((uint8_t *)&qp->attr + fields[i].offset, (uint8_t *)attr + fields[i].offset, fields[i].size);
    base->state = qp->attr.qp_state = to;
    if (to == IBV_QPS_ERR) {
        to_error(qp);
    } else if (to == IBV_QPS_RESET) {
        for (; qp->sends_count; qp->sends_count--) {
            free(qp->sends[qp->sends_head].inlined);
            qp->sends_head = (qp->sends_head + 1) % qp->cap.max_send_wr;
        }
        qp->receives.count = 0;
    }
    pthread_mutex_unlock(&lock);
    if (to != from)
        record(base->qp_type, &qp->attr);
    return 0;
}

EXPORT int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    struct lb_qp *qp = (struct lb_qp *)base;
    if (get(CALL_ERROR))
        return (int)get(CALL_ERROR);
    if (get(QUERY_MASK) && (mask & ~get(QUERY_MASK)))
        return EOPNOTSUPP;
    *attr = qp->attr;
    attr->qp_state = attr->cur_qp_state = base->state;
    attr->cap = qp->cap;
    memset(init, 0, sizeof *init);
    init->cap = qp->cap;
    init->qp_type = base->qp_type;
    return 0;
}

enum { VENDOR = 0x123456 };

EXPORT int ibv_query_ece(struct ibv_qp *base, struct ibv_ece *ece)
{
    struct lb_qp *qp = (struct lb_qp *)base;
    if (!get(ECE))
        return EOPNOTSUPP;
    *ece = (struct ibv_ece){.vendor_id = VENDOR, .options = qp->agreed ? qp->agreed : (uint32_t)get(ECE)};
    return 0;
}

EXPORT int ibv_set_ece(struct ibv_qp *base, struct ibv_ece *ece)
{
    if (!get(ECE))
        return EOPNOTSUPP;
    if (ece->vendor_id != VENDOR || ece->comp_mask || base->state > IBV_QPS_INIT)
        return EINVAL;
    ((struct lb_qp *)base)->agreed = ece->options & (uint32_t)get(ECE);
    return 0;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *base)
{
    struct lb_qp *qp = (struct lb_qp *)base;
    int error = destroying();
    pthread_mutex_lock(&lock);
    qps[base->qp_num] = NULL;
    pthread_mutex_unlock(&lock);
    if (error)
        return error;
    for (; qp->sends_count; qp->sends_count--) {
        free(qp->sends[qp->sends_head].inlined);
        qp->sends_head = (qp->sends_head + 1) % qp->cap.max_send_wr;
    }
    free(qp->sink);
    free(qp->sends);
    free(qp->receives.entries);
    free(qp);
    return 0;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    if (!get(SRQ) || init->attr.max_sge > 16) {
        errno = get(SRQ) ? EINVAL : EOPNOTSUPP;
        return NULL;
    }
    struct lb_srq *srq = made(sizeof *srq);
    if (!srq)
        return NULL;
    room(&srq->receives, init->attr.max_wr);
    srq->base.context = pd->context;
    srq->base.pd = pd;
    srq->base.handle = ++last_handle;
    return &srq->base;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init)
{
    bool private = init->comp_mask == (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS) && init->fd == -1 &&
               init->oflags == O_CREAT;
    struct ibv_xrcd *xrcd = get(XRC) && private ? made(sizeof *xrcd) : NULL;
    if (!xrcd) {
        errno = EINVAL;
        return NULL;
    }
    xrcd->context = context;
    return xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
    int error = destroying();
    if (!error)
        free(xrcd);
    return error;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
    unsigned int number = 1;
    (void)context;
    while (number < MOST_SRQS && srqs[number])
        number++;
    if (init->srq_type != IBV_SRQT_XRC || number == MOST_SRQS ||
        init->comp_mask !=
            (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ)) {
        errno = EINVAL;
        return NULL;
    }
    struct ibv_srq_init_attr plain = {.attr = init->attr};
    struct ibv_srq *srq = ibv_create_srq(init->pd, &plain);
    if (!srq)
        return NULL;
    ((struct lb_srq *)srq)->cq = init->cq;
    ((struct lb_srq *)srq)->xrcd = init->xrcd;
    srqs[number] = (struct lb_srq *)srq;
    return srq;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
    for (*number = 1; *number < MOST_SRQS; ++*number)
        if (srqs[*number] == (struct lb_srq *)srq)
            return 0;
    return EINVAL;
}

EXPORT int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
    if (mask & IBV_SRQ_LIMIT)
        ((struct lb_srq *)base)->limit = attr->srq_limit;
    return (int)get(CALL_ERROR);
}

EXPORT int ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
    struct lb_srq *srq = (struct lb_srq *)base;
    *attr = (struct ibv_srq_attr){.max_wr = srq->receives.size, .max_sge = 16, .srq_limit = srq->limit};
    return (int)get(CALL_ERROR);
}

EXPORT int ibv_destroy_srq(struct ibv_srq *base)
{
    struct lb_srq *srq = (struct lb_srq *)base;
    uint32_t number;
    int error = destroying();
    if (error)
        return error;
    if (!get_srq_num(base, &number))
        srqs[number] = NULL;
    free(srq->receives.entries);
    free(srq);
    return 0;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct lb_ah *ah = made(sizeof *ah);
    if (!ah)
        return NULL;
    ah->base.context = pd->context;
    ah->base.pd = pd;
    ah->base.handle = ++last_handle;
    ah->attr = *attr;
    return &ah->base;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
    (void)wc;
    (void)grh;
    struct ibv_ah_attr attr = {.port_num = port};
    return ibv_create_ah(pd, &attr);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
    int error = destroying();
    if (!error)
        free(ah);
    return error;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)gid;
    (void)lid;
    return qp->qp_type == IBV_QPT_UD ? (int)get(CALL_ERROR) : EINVAL;
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)qp;
    (void)gid;
    (void)lid;
    return (int)get(DESTROY_ERROR);
}

/* ---- contexts ---- */

struct lb_context {
    struct verbs_context base;
    int tell;
};

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *one)
{
    struct lb_context *context = made(sizeof *context);
    int ends[2];
    if (!context)
        return NULL;
    if (pipe2(ends, O_CLOEXEC)) {
        free(context);
        return NULL;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    context->tell = ends[1];
    context->base.sz = sizeof context->base;
    context->base.query_port = query_port;
    context->base.query_device_ex = query_device_ex;
    context->base.create_qp_ex = create_qp_ex;
    context->base.create_cq_ex = get(SINK) ? NULL : create_cq_ex;
    context->base.query_rt_values = query_rt_values;
    context->base.open_xrcd = open_xrcd;
    context->base.close_xrcd = close_xrcd;
    context->base.create_srq_ex = create_srq_ex;
    context->base.get_srq_num = get_srq_num;
    struct ibv_context *inner = &context->base.context;
    inner->device = one;
    inner->ops.poll_cq = get(SINK) ? sink_poll_cq : poll_cq;
    inner->ops.req_notify_cq = req_notify_cq;
    inner->ops.post_send = get(SINK) ? sink_post_send : post_send;
    inner->ops.post_recv = post_recv;
    inner->ops.post_srq_recv = post_srq_recv;
    inner->ops.alloc_mw = alloc_mw;
    inner->ops.bind_mw = bind_mw;
    inner->ops.dealloc_mw = dealloc_mw;
    inner->cmd_fd = -1;
    inner->async_fd = ends[0];
    inner->num_comp_vectors = (int)get(VECTORS);
    inner->abi_compat = (void *)UINTPTR_MAX;
    return inner;
}

static struct lb_context *outer(struct ibv_context *context)
{
    return (struct lb_context *)((uint8_t *)context - offsetof(struct verbs_context, context));
}

EXPORT int ibv_close_device(struct ibv_context *inner)
{
    struct lb_context *context = outer(inner);
    int error = destroying();
    if (error)
        return error;
    close(inner->async_fd);
    close(context->tell);
    free(context);
    return 0;
}

/* Lets a context have an event of its device or of a port. */
EXPORT int loopback_event(struct ibv_context *context, int type, int port)
{
    struct ibv_async_event event = {.event_type = (enum ibv_event_type)type};
    event.element.port_num = port;
    return write(outer(context)->tell, &event, sizeof event) == sizeof event ? 0 : errno;
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    return read(context->async_fd, event, sizeof *event) == sizeof *event ? 0 : -1;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}
