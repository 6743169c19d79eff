/*
 * A library in the place of libibverbs.so.1 that hands every call on to the real one, and changes answers on command: what
 * hardware answers and soft-RoCE never does, above real queue pairs of the kernel.
 *
 * Its name is that of libibverbs, and it needs the real one by its whole path (REAL). So whoever looks a symbol up in
 * libibverbs.so.1 finds this library first and the real one behind it: this project, librdmacm, the providers, and programs.
 * Put its folder into LD_LIBRARY_PATH.
 *
 * interposer_set(NAME, VALUE) changes an answer from then on. INTERPOSER="NAME=VALUE,..." in the environment does so from the
 * beginning, for programs. The table "settings" below has the names; those that loopback_verbs.c has too mean the same.
 *
 * What passes here says nothing about any fabric.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The header has macros and inline functions of these names. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define EXPORT __attribute__((visibility("default")))

/* ---- settings ---- */

enum setting {
    DESTROY_ERROR, CALL_ERROR, POLL_RESULT, POST_RESULT, POST_BAD, DESTROY_CALLS, LINK_LAYER, LID, SM_LID, LMC, PKEYS, GIDS,
    GID_STEP, SPEED, SPEED_EX, WIDTH, PORTS, ATOMICS, RC, SRQ, MAX_SGE, QUERY_MASK, REFUSED_ACCESS, SHOW_DRIVER, SETTINGS
};

/* -1 leaves the answer of the real library as it is. */
static struct {
    const char *name;
    long usual;
    _Atomic long value;
} settings[SETTINGS] = {
    /* The errno of every call of this project's that destroys something. The object is destroyed all the same, as the kernel does at a reset. */
    [DESTROY_ERROR] = {"destroy_error", 0, 0},
    /* The errno of every other call that goes to the kernel and that this project makes; it is not made. */
    [CALL_ERROR] = {"call_error", 0, 0},
    /* What ibv_poll_cq returns if it is not 0. */
    [POLL_RESULT] = {"poll_result", 0, 0},
    /* What the posts return if it is not 0, and the index of the request that they call bad; -1 for none. */
    [POST_RESULT] = {"post_result", 0, 0},
    [POST_BAD] = {"post_bad", 0, 0},
    /* A counter: calls that destroy something. */
    [DESTROY_CALLS] = {"destroy_calls", 0, 0},
    /* The port. An InfiniBand one has LIDs and P_Keys; what is sent by them goes through the real port's GID 0. */
    [LINK_LAYER] = {"link_layer", -1, 0},
    [LID] = {"lid", -1, 0},
    [SM_LID] = {"sm_lid", -1, 0},
    [LMC] = {"lmc", -1, 0},
    [PKEYS] = {"pkeys", -1, 0},
    /* The size of the GID table. The port's real GIDs stand at every gid_step-th index; the others are empty. */
    [GIDS] = {"gids", -1, 0},
    [GID_STEP] = {"gid_step", 1, 0},
    [SPEED] = {"speed", -1, 0},
    [SPEED_EX] = {"speed_ex", -1, 0},
    [WIDTH] = {"width", -1, 0},
    /* The last port is the real one; those before it are down. */
    [PORTS] = {"ports", 1, 0},
    /* The device. */
    [ATOMICS] = {"atomics", -1, 0},
    [RC] = {"rc", 1, 0},
    [SRQ] = {"srq", 1, 0},
    [MAX_SGE] = {"max_sge", -1, 0},
    /* Bits of ibv_query_qp that the provider knows; 0 for all. */
    [QUERY_MASK] = {"query_mask", 0, 0},
    /* Bits of access that memory and queue pairs are refused for. */
    [REFUSED_ACCESS] = {"refused_access", 0, 0},
    /* Whether the device's place in sysfs is told. Without it the device passes for a stand-in, which it is. */
    [SHOW_DRIVER] = {"show_driver", 0, 0},
};

static inline long get(enum setting setting)
{
    return atomic_load_explicit(&settings[setting].value, memory_order_relaxed);
}

static inline bool is_set(enum setting setting)
{
    return get(setting) >= 0;
}

EXPORT long interposer_get(const char *name)
{
    for (int i = 0; i < SETTINGS; i++)
        if (!strcmp(settings[i].name, name))
            return get(i);
    return -1;
}

/* Returns 0; -1 if there is no such setting. */
EXPORT int interposer_set(const char *name, long value)
{
    for (int i = 0; i < SETTINGS; i++)
        if (!strcmp(settings[i].name, name)) {
            atomic_store(&settings[i].value, value);
            return 0;
        }
    return -1;
}

EXPORT void interposer_usual(void)
{
    for (int i = 0; i < SETTINGS; i++)
        atomic_store(&settings[i].value, settings[i].usual);
}

__attribute__((constructor)) static void begin(void)
{
    interposer_usual();
    const char *given = getenv("INTERPOSER");
    char *words = given ? strdup(given) : NULL;
    char *rest = NULL;
    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (!value || interposer_set(word, strtol(value, NULL, 0))) {
            fprintf(stderr, "INTERPOSER=%s: there is no setting %s\n", given, word);
            exit(2);
        }
    }
    free(words);
}

/* ---- the real library ---- */

static void *real_symbol(const char *name)
{
    void *library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "interposer: %s in %s: %s\n", name, REAL, dlerror());
        abort();
    }
    return symbol;
}

#define REAL_FUNCTION(name)                                            \
    ({                                                             \
        static void *_Atomic at;                               \
        void *found = atomic_load(&at);                        \
        if (!found) {                                          \
            found = real_symbol(#name);                    \
            atomic_store(&at, found);                      \
        }                                                      \
        (__typeof__(&name))found;                              \
    })

/* Ends a call that goes to the kernel: for one that returns an errno, and for one that returns a pointer or -1. */
#define FAIL_CALL                                                      \
    do {                                                           \
        if (get(CALL_ERROR))                                   \
            return (int)get(CALL_ERROR);                   \
    } while (0)

static bool call_fails(void)
{
    if (!get(CALL_ERROR))
        return false;
    errno = (int)get(CALL_ERROR);
    return true;
}

/* What a call that destroys something ends with, after the real one. */
static int destroyed(int result)
{
    atomic_fetch_add(&settings[DESTROY_CALLS].value, 1);
    return !result && get(DESTROY_ERROR) ? (int)get(DESTROY_ERROR) : result;
}

/* ---- contexts: functions of the data path are called through pointers ---- */

enum { MOST_CONTEXTS = 4096, MOST_QPS = 1 << 16 };

struct wrapped {
    struct ibv_context *_Atomic context;
    struct ibv_context_ops ops;
    __typeof__(((struct verbs_context *)0)->query_port) query_port;
    __typeof__(((struct verbs_context *)0)->query_device_ex) query_device_ex;
    __typeof__(((struct verbs_context *)0)->create_qp_ex) create_qp_ex;
    __typeof__(((struct verbs_context *)0)->create_srq_ex) create_srq_ex;
    __typeof__(((struct verbs_context *)0)->create_cq_ex) create_cq_ex;
    __typeof__(((struct verbs_context *)0)->open_xrcd) open_xrcd;
    __typeof__(((struct verbs_context *)0)->close_xrcd) close_xrcd;
};

static struct wrapped contexts[MOST_CONTEXTS];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static struct wrapped *wrapped(struct ibv_context *context)
{
    for (int i = 0; i < MOST_CONTEXTS; i++)
        if (atomic_load_explicit(&contexts[i].context, memory_order_acquire) == context)
            return &contexts[i];
    fprintf(stderr, "interposer: a context that it did not open\n");
    abort();
}

static struct verbs_context *extended(struct ibv_context *context)
{
    return context->abi_compat == (void *)UINTPTR_MAX
               ? (struct verbs_context *)((uint8_t *)context - offsetof(struct verbs_context, context))
               : NULL;
}

static bool has(struct verbs_context *context, size_t end)
{
    return context && context->sz >= sizeof *context && end <= sizeof *context;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    if (get(POLL_RESULT))
        return (int)get(POLL_RESULT);
    int got = wrapped(cq->context)->ops.poll_cq(cq, most, wc);
    /* rdmatest mends this flag of soft-RoCE by the library that polls, which is this one here. See Completions.mendFlags. */
    for (int i = 0; i < got; i++)
        if (wc[i].wc_flags & IBV_WC_IP_CSUM_OK)
            wc[i].wc_flags = (wc[i].wc_flags & ~IBV_WC_IP_CSUM_OK) | IBV_WC_WITH_INV;
    return got;
}

static int refused(void *first, void **bad, size_t next)
{
    void *at = first;
    for (long i = 0; at && i < get(POST_BAD); i++)
        at = *(void **)((uint8_t *)at + next);
    *bad = get(POST_BAD) < 0 ? NULL : at;
    return (int)get(POST_RESULT);
}

/* What stands before the bad request is posted, as providers do it: the list is cut in front of it for the time of the call. */
#define POST(function, object, wr, bad)                                                   \
    do {                                                                              \
        if (!get(POST_RESULT))                                                    \
            return wrapped((object)->context)->ops.function(object, wr, bad); \
        int result = refused(wr, (void **)bad, offsetof(__typeof__(*wr), next));  \
        __typeof__(wr) last = wr;                                                 \
        while (*bad && wr != *bad && last->next != *bad)                          \
            last = last->next;                                                \
        if (*bad && wr != *bad) {                                                 \
            __typeof__(wr) ignored;                                           \
            last->next = NULL;                                                \
            int other = wrapped((object)->context)->ops.function(object, wr, &ignored); \
            last->next = *bad;                                                \
            if (other) {                                                      \
                *bad = ignored;                                           \
                return other;                                             \
            }                                                                 \
        }                                                                         \
        return result;                                                            \
    } while (0)

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    POST(post_send, qp, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    POST(post_recv, qp, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    POST(post_srq_recv, srq, wr, bad);
}

/* Returns the real port; 0 for one that is down, -1 for one that is not there. */
static int real_port(int port)
{
    return port < 1 || port > get(PORTS) ? -1 : port == get(PORTS) ? 1 : 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
    union {
        struct ibv_port_attr known;
        uint8_t bytes[64];
    } full = {0};
    FAIL_CALL;
    if (real_port(port) < 0)
        return EINVAL;
    int error = wrapped(context)->query_port(context, 1, &full.known, sizeof full.known);
    if (error)
        return error;
    if (!real_port(port)) {
        full.known.state = IBV_PORT_DOWN;
        full.known.phys_state = 3;
    }
#define CHANGE(setting, field)                                         \
    if (is_set(setting))                                           \
    full.known.field = (__typeof__(full.known.field))get(setting)
    CHANGE(LINK_LAYER, link_layer);
    CHANGE(LID, lid);
    CHANGE(SM_LID, sm_lid);
    CHANGE(LMC, lmc);
    CHANGE(PKEYS, pkey_tbl_len);
    CHANGE(GIDS, gid_tbl_len);
    CHANGE(SPEED, active_speed);
    CHANGE(WIDTH, active_width);
#undef CHANGE
    /* Younger than the headers may be: uint32_t active_speed_ex, right behind what they have. */
    uint32_t speed_ex = (uint32_t)get(SPEED_EX);
    if (is_set(SPEED_EX))
        memcpy(full.bytes + 52, &speed_ex, sizeof speed_ex);
    memset(attr, 0, size);
    memcpy(attr, full.bytes, size < sizeof full.bytes ? size : sizeof full.bytes);
    return 0;
}

/* The old symbol, which knows the attributes up to the physical state. */
EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return query_port(context, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, link_layer));
}

static void change_device(struct ibv_device_attr *attr)
{
    attr->phys_port_cnt = (uint8_t)get(PORTS);
    if (is_set(ATOMICS))
        attr->atomic_cap = (enum ibv_atomic_cap)get(ATOMICS);
    if (is_set(PKEYS))
        attr->max_pkeys = (uint16_t)get(PKEYS);
    if (is_set(MAX_SGE))
        attr->max_sge = attr->max_sge_rd = attr->max_srq_sge = (int)get(MAX_SGE);
    if (!get(SRQ))
        attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    FAIL_CALL;
    int error = REAL_FUNCTION(ibv_query_device)(context, attr);
    if (!error)
        change_device(attr);
    return error;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
               struct ibv_device_attr_ex *attr, size_t size)
{
    FAIL_CALL;
    int error = wrapped(context)->query_device_ex(context, input, attr, size);
    if (!error)
        change_device(&attr->orig_attr);
    return error;
}

static bool refuses_qp(enum ibv_qp_type type, bool srq, const struct ibv_qp_cap *cap)
{
    if (call_fails())
        return true;
    errno = (type == IBV_QPT_RC && !get(RC)) || (srq && !get(SRQ)) ? EOPNOTSUPP
        : is_set(MAX_SGE) && (cap->max_send_sge > get(MAX_SGE) || cap->max_recv_sge > get(MAX_SGE)) ? EINVAL
                                                                : 0;
    return errno;
}

/* What ibv_modify_qp was told of each queue pair, for whoever asks for it again. By number: no two live ones share it. */
static struct record {
    struct ibv_qp *_Atomic qp;
    struct ibv_qp_attr attr;
} records[MOST_QPS];

static struct ibv_qp *recorded(struct ibv_qp *qp)
{
    if (qp) {
        struct record *record = &records[qp->qp_num % MOST_QPS];
        memset(&record->attr, 0, sizeof record->attr);
        atomic_store(&record->qp, qp);
    }
    return qp;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
    bool refuses = refuses_qp(init->qp_type, init->srq, &init->cap);
    return refuses ? NULL : recorded(wrapped(context)->create_qp_ex(context, init));
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
    if (call_fails())
        return NULL;
    if (get(SRQ))
        return wrapped(context)->create_srq_ex(context, init);
    errno = EOPNOTSUPP;
    return NULL;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
    return call_fails() ? NULL : wrapped(context)->create_cq_ex(context, init);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init)
{
    return call_fails() ? NULL : wrapped(context)->open_xrcd(context, init);
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
    return destroyed(wrapped(xrcd->context)->close_xrcd(xrcd));
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    return call_fails() ? NULL : wrapped(pd->context)->ops.alloc_mw(pd, type);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    FAIL_CALL;
    return wrapped(qp->context)->ops.bind_mw(qp, mw, bind);
}

static int dealloc_mw(struct ibv_mw *mw)
{
    return destroyed(wrapped(mw->context)->ops.dealloc_mw(mw));
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *context = call_fails() ? NULL : REAL_FUNCTION(ibv_open_device)(device);
    if (!context)
        return NULL;
    struct verbs_context *outer = extended(context);
    pthread_mutex_lock(&opening);
    struct wrapped *free_one = wrapped(NULL);
    free_one->ops = context->ops;
    context->ops.poll_cq = poll_cq;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    context->ops.post_srq_recv = post_srq_recv;
#define WRAP_OPERATION(function)                                       \
    if (context->ops.function)                                     \
    context->ops.function = function
    WRAP_OPERATION(alloc_mw);
    WRAP_OPERATION(bind_mw);
    WRAP_OPERATION(dealloc_mw);
#undef WRAP_OPERATION
    if (has(outer, sizeof *outer)) {
#define WRAP(function)                                                 \
    free_one->function = outer->function;                          \
    if (outer->function)                                           \
    outer->function = function
        WRAP(query_port);
        WRAP(query_device_ex);
        WRAP(create_qp_ex);
        WRAP(create_srq_ex);
        WRAP(create_cq_ex);
        WRAP(open_xrcd);
        WRAP(close_xrcd);
#undef WRAP
    }
    atomic_store_explicit(&free_one->context, context, memory_order_release);
    pthread_mutex_unlock(&opening);
    return context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
    /* Before its address is used again. */
    atomic_store(&wrapped(context)->context, NULL);
    return destroyed(REAL_FUNCTION(ibv_close_device)(context));
}

EXPORT struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list = REAL_FUNCTION(ibv_get_device_list)(count);
    for (int i = 0; list && list[i] && !get(SHOW_DRIVER); i++)
        list[i]->ibdev_path[0] = 0;
    return list;
}

/* ---- GIDs and P_Keys ---- */

/* Returns the index of the real table; -1 where the port has a hole. */
static int real_gid(int index)
{
    if (!is_set(GIDS))
        return index;
    return index < 0 || index >= get(GIDS) || index % get(GID_STEP) ? -1 : index / (int)get(GID_STEP);
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    if (call_fails())
        return -1;
    if (real_port(port) < 0) {
        errno = EINVAL;
        return -1;
    }
    if (!real_port(port) || real_gid(index) < 0) {
        memset(gid, 0, sizeof *gid);
        return 0;
    }
    return REAL_FUNCTION(ibv_query_gid)(context, 1, real_gid(index), gid);
}

static void change_gid(struct ibv_gid_entry *entry)
{
    entry->port_num = (uint32_t)get(PORTS);
    if (is_set(GIDS))
        entry->gid_index *= (uint32_t)get(GID_STEP);
    if (get(LINK_LAYER) == IBV_LINK_LAYER_INFINIBAND) {
        entry->gid_type = IBV_GID_TYPE_IB;
        entry->ndev_ifindex = 0;
    }
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
                 uint32_t flags, size_t size)
{
    FAIL_CALL;
    if (real_port((int)port) <= 0 || real_gid((int)index) < 0)
        return real_port((int)port) < 0 ? EINVAL : ENODATA;
    int error = REAL_FUNCTION(_ibv_query_gid_ex)(context, 1, (uint32_t)real_gid((int)index), entry, flags, size);
    if (!error)
        change_gid(entry);
    return error;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most, uint32_t flags,
                    size_t size)
{
    if (get(CALL_ERROR))
        return -get(CALL_ERROR);
    ssize_t found = REAL_FUNCTION(_ibv_query_gid_table)(context, entries, most, flags, size);
    ssize_t kept = 0;
    for (ssize_t i = 0; i < found; i++) {
        struct ibv_gid_entry *entry = (struct ibv_gid_entry *)((uint8_t *)entries + (size_t)i * size);
        change_gid(entry);
        if (!is_set(GIDS) || entry->gid_index < get(GIDS))
            memmove((uint8_t *)entries + (size_t)kept++ * size, entry, size);
    }
    return found < 0 ? found : kept;
}

/* Of libibverbs for itself and its providers (infiniband/driver.h): whether a GID is of RoCE v2. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type);

EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type)
{
    if (call_fails())
        return -1;
    if (real_port(port) <= 0 || real_gid((int)index) < 0) {
        errno = EINVAL;
        return -1;
    }
    return REAL_FUNCTION(ibv_query_gid_type)(context, 1, (unsigned int)real_gid((int)index), type);
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    if (call_fails())
        return -1;
    if (real_port(port) < 0 || (is_set(PKEYS) && (index < 0 || index >= get(PKEYS)))) {
        errno = EINVAL;
        return -1;
    }
    if (!is_set(PKEYS))
        return REAL_FUNCTION(ibv_query_pkey)(context, 1, index, pkey);
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

/* ---- queue pairs ---- */

/* Lets an address vector name what the real port has: soft-RoCE takes no LID, and no vector without a GID. */
static int to_real_vector(struct ibv_context *context, struct ibv_ah_attr *vector)
{
    if (real_port(vector->port_num) <= 0)
        return EINVAL;
    vector->port_num = 1;
    if (vector->is_global) {
        int index = real_gid(vector->grh.sgid_index);
        if (index < 0)
            return EINVAL;
        vector->grh.sgid_index = (uint8_t)index;
    } else if (get(LINK_LAYER) == IBV_LINK_LAYER_INFINIBAND) {
        /* The port reaches itself only, by any of its LIDs. */
        long first = is_set(LID) ? get(LID) : 0;
        if (vector->dlid < first || vector->dlid >= first + (1 << (is_set(LMC) ? get(LMC) : 0)))
            return EINVAL;
        vector->is_global = 1;
        memset(&vector->grh, 0, sizeof vector->grh);
        vector->grh.hop_limit = 1;
        if (REAL_FUNCTION(ibv_query_gid)(context, 1, 0, &vector->grh.dgid))
            return errno;
    }
    if (get(LINK_LAYER) == IBV_LINK_LAYER_INFINIBAND)
        vector->dlid = vector->src_path_bits = vector->static_rate = 0;
    return 0;
}

static const struct {
    int bit;
    size_t offset, size;
} fields[] = {
#define FIELD(bit, name) {bit, offsetof(struct ibv_qp_attr, name), sizeof((struct ibv_qp_attr *)0)->name}
    FIELD(IBV_QP_PKEY_INDEX, pkey_index), FIELD(IBV_QP_PORT, port_num), FIELD(IBV_QP_AV, ah_attr),
#undef FIELD
};

static void copy_fields(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (mask & fields[i].bit)
            memcpy((uint8_t *)to + fields[i].offset, (const uint8_t *)from + fields[i].offset, fields[i].size);
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    bool refuses = refuses_qp(init->qp_type, init->srq, &init->cap);
    return refuses ? NULL : recorded(REAL_FUNCTION(ibv_create_qp)(pd, init));
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    struct ibv_qp_attr real = *attr;
    FAIL_CALL;
    if ((mask & IBV_QP_ACCESS_FLAGS) && (attr->qp_access_flags & (unsigned int)get(REFUSED_ACCESS)))
        return EOPNOTSUPP;
    if ((mask & IBV_QP_PORT) && real_port(attr->port_num) <= 0)
        return EINVAL;
    real.port_num = 1;
    if ((mask & IBV_QP_PKEY_INDEX) && is_set(PKEYS)) {
        if (attr->pkey_index >= get(PKEYS))
            return EINVAL;
        real.pkey_index = 0;
    }
    int error = mask & IBV_QP_AV ? to_real_vector(qp->context, &real.ah_attr) : 0;
    if (!error)
        error = REAL_FUNCTION(ibv_modify_qp)(qp, &real, mask);
    struct record *record = &records[qp->qp_num % MOST_QPS];
    if (!error && atomic_load(&record->qp) == qp)
        copy_fields(&record->attr, attr, mask);
    return error;
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    FAIL_CALL;
    if (get(QUERY_MASK) && (mask & ~get(QUERY_MASK)))
        return EOPNOTSUPP;
    int error = REAL_FUNCTION(ibv_query_qp)(qp, attr, mask, init);
    struct record *record = &records[qp->qp_num % MOST_QPS];
    bool differs = is_set(LINK_LAYER) || is_set(PKEYS) || is_set(GIDS) || get(PORTS) > 1;
    if (!error && differs && atomic_load(&record->qp) == qp)
        copy_fields(attr, &record->attr, ~0);
    return error;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
    struct ibv_qp *expected = qp;
    atomic_compare_exchange_strong(&records[qp->qp_num % MOST_QPS].qp, &expected, NULL);
    return destroyed(REAL_FUNCTION(ibv_destroy_qp)(qp));
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct ibv_ah_attr real = *attr;
    if (call_fails())
        return NULL;
    errno = to_real_vector(pd->context, &real);
    return errno ? NULL : REAL_FUNCTION(ibv_create_ah)(pd, &real);
}

/* The real one asks for GIDs and their types, by the functions above. */
EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
    struct ibv_ah_attr attr;
    if (call_fails() || REAL_FUNCTION(ibv_init_ah_from_wc)(pd->context, port, wc, grh, &attr))
        return NULL;
    return ibv_create_ah(pd, &attr);
}

/* ---- memory ---- */

static bool refuses_access(unsigned int access)
{
    if (call_fails())
        return true;
    if (!(access & (unsigned int)get(REFUSED_ACCESS)))
        return false;
    errno = EOPNOTSUPP;
    return true;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return refuses_access((unsigned int)access) ? NULL : REAL_FUNCTION(ibv_reg_mr)(pd, address, length, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
    return refuses_access((unsigned int)access) ? NULL
                            : REAL_FUNCTION(ibv_reg_mr_iova)(pd, address, length, iova, access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
    return refuses_access(access) ? NULL : REAL_FUNCTION(ibv_reg_mr_iova2)(pd, address, length, iova, access);
}

/* Libraries before rdma-core 34 lack it. */
EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
    if (refuses_access((unsigned int)access))
        return NULL;
    __typeof__(&ibv_reg_dmabuf_mr) real = dlsym(dlopen(REAL, RTLD_NOW | RTLD_LOCAL), "ibv_reg_dmabuf_mr");
    if (real)
        return real(pd, offset, length, iova, fd, access);
    errno = EOPNOTSUPP;
    return NULL;
}

/* ---- other calls that go to the kernel ---- */

#define MAKES(result, name, parameters, arguments)                     \
    EXPORT result *name parameters                                 \
    {                                                              \
        return call_fails() ? NULL : REAL_FUNCTION(name)arguments; \
    }

#define CALLS(name, parameters, arguments)                             \
    EXPORT int name parameters                                     \
    {                                                              \
        FAIL_CALL;                                             \
        return REAL_FUNCTION(name) arguments;                  \
    }

#define DESTROYS(name, parameters, arguments)                          \
    EXPORT int name parameters                                     \
    {                                                              \
        return destroyed(REAL_FUNCTION(name) arguments);       \
    }

MAKES(struct ibv_pd, ibv_alloc_pd, (struct ibv_context * context), (context))
MAKES(struct ibv_comp_channel, ibv_create_comp_channel, (struct ibv_context * context), (context))
MAKES(struct ibv_cq, ibv_create_cq,
      (struct ibv_context * context, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector),
      (context, cqe, cq_context, channel, vector))
CALLS(ibv_resize_cq, (struct ibv_cq * cq, int cqe), (cq, cqe))
CALLS(ibv_modify_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr, int mask), (srq, attr, mask))
CALLS(ibv_query_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr), (srq, attr))
CALLS(ibv_attach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid), (qp, gid, lid))
DESTROYS(ibv_dealloc_pd, (struct ibv_pd * pd), (pd))
DESTROYS(ibv_destroy_comp_channel, (struct ibv_comp_channel * channel), (channel))
DESTROYS(ibv_destroy_cq, (struct ibv_cq * cq), (cq))
DESTROYS(ibv_destroy_srq, (struct ibv_srq * srq), (srq))
DESTROYS(ibv_destroy_ah, (struct ibv_ah * ah), (ah))
DESTROYS(ibv_dereg_mr, (struct ibv_mr * mr), (mr))
DESTROYS(ibv_detach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid), (qp, gid, lid))

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    if (call_fails())
        return NULL;
    if (get(SRQ))
        return REAL_FUNCTION(ibv_create_srq)(pd, init);
    errno = EOPNOTSUPP;
    return NULL;
}
