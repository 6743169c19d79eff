/*
 * A library in the place of librdmacm.so.1, beside the libibverbs.so.1 of loopback_verbs.c: event channels, ids that are
 * bound to the device "standin0", and queue pairs of theirs. Addresses and routes are resolved at once, to two paths of an
 * InfiniBand subnet. Groups are joined at once. It has no connection: no peer answers.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

long loopback_get(const char *name);

static struct ibv_context *opened;

struct channel {
    struct rdma_event_channel base;
    int other;
};

static int failed(const char *setting)
{
    errno = (int)loopback_get(setting);
    return errno ? -1 : 0;
}

EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
    struct channel *channel = calloc(1, sizeof *channel);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        free(channel);
        return NULL;
    }
    channel->base.fd = ends[0];
    channel->other = ends[1];
    return &channel->base;
}

EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
    struct channel *channel = (struct channel *)base;
    close(base->fd);
    close(channel->other);
    free(channel);
}

EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                          enum rdma_port_space space)
{
    struct rdma_cm_id *made = calloc(1, sizeof *made);
    made->channel = channel;
    made->context = context;
    made->ps = space;
    *id = made;
    return 0;
}

EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
    if (failed("destroy_error"))
        return -1;
    free(id->route.path_rec);
    free(id);
    return 0;
}

/* An event's address goes through the pipe. */
static int pass_on(const struct rdma_cm_event *told)
{
    struct rdma_cm_event *event = malloc(sizeof *event);
    *event = *told;
    return write(((struct channel *)told->id->channel)->other, &event, sizeof event) == sizeof event ? 0 : -1;
}

static int tell(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
    struct rdma_cm_event event = {.id = id, .event = type};
    return pass_on(&event);
}

EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    return read(channel->fd, event, sizeof *event) == sizeof *event ? 0 : -1;
}

EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    free(event);
    return 0;
}

static void take_device(struct rdma_cm_id *id)
{
    if (!opened) {
        struct ibv_device **list = ibv_get_device_list(NULL);
        opened = ibv_open_device(list[0]);
        ibv_free_device_list(list);
    }
    id->verbs = opened;
    id->port_num = 1;
}

static void take_address(struct sockaddr_storage *storage, struct sockaddr *address)
{
    memcpy(storage, address,
           address->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
           : address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                            : sizeof(struct sockaddr_ib));
}

EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    if (failed("call_error"))
        return -1;
    take_address(&id->route.addr.src_storage, address);
    take_device(id);
    ibv_query_gid(id->verbs, id->port_num, 0, &id->route.addr.addr.ibaddr.sgid);
    id->route.addr.addr.ibaddr.pkey = htobe16((uint16_t)loopback_get("ipoib_pkey"));
    return 0;
}

EXPORT int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *target, int timeout)
{
    struct rdma_ib_addr *ib = &id->route.addr.addr.ibaddr;
    (void)timeout;
    if (failed("call_error"))
        return -1;
    if (source)
        take_address(&id->route.addr.src_storage, source);
    take_address(&id->route.addr.dst_storage, target);
    take_device(id);
    ibv_query_gid(id->verbs, id->port_num, 0, &ib->sgid);
    ib->pkey = htobe16((uint16_t)loopback_get("ipoib_pkey"));
    if (target->sa_family == AF_IB) {
        struct sockaddr_ib *native = (struct sockaddr_ib *)target;
        memcpy(&ib->dgid, &native->sib_addr, sizeof ib->dgid);
        ib->pkey = native->sib_pkey;
    }
    return tell(id, RDMA_CM_EVENT_ADDR_RESOLVED);
}

EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout)
{
    struct rdma_ib_addr *ib = &id->route.addr.addr.ibaddr;
    uint16_t lid = (uint16_t)loopback_get("lid");
    (void)timeout;
    if (failed("call_error"))
        return -1;
    id->route.path_rec = calloc(2, sizeof *id->route.path_rec);
    id->route.num_paths = 2;
    for (int i = 0; i < 2; i++) {
        /* The second path has other LIDs, a lower rate, and leads through a router. */
        struct ibv_sa_path_rec path = {
            .dgid = ib->dgid, .sgid = ib->sgid, .dlid = htobe16(0x0777 + i), .slid = htobe16(lid + i), .pkey = ib->pkey,
            .sl = 5 + i, .mtu_selector = 2, .mtu = IBV_MTU_2048, .rate_selector = 2,
            .rate = i ? IBV_RATE_25_GBPS : IBV_RATE_100_GBPS, .packet_life_time = 18, .reversible = !i, .numb_path = 1,
            .hop_limit = i ? 64 : 0, .traffic_class = i ? 0x12 : 0, .flow_label = htobe32(i ? 0xabcde : 0),
        };
        id->route.path_rec[i] = path;
    }
    return tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Numeric addresses only: native ones of a GID in the notation of IPv6, as librdmacm makes them, and those of IPv4. */
EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *info);

EXPORT int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints, struct rdma_addrinfo **result)
{
    union {
        struct sockaddr base;
        struct sockaddr_ib native;
        struct sockaddr_in ip;
    } *address = calloc(1, sizeof *address);
    struct rdma_addrinfo *info = calloc(1, sizeof *info);
    uint64_t port = service ? strtoul(service, NULL, 10) : 0;
    int passive = hints->ai_flags & RAI_PASSIVE;
    int read = 0;
    *result = info;
    info->ai_flags = hints->ai_flags;
    info->ai_qp_type = hints->ai_qp_type;
    info->ai_port_space = hints->ai_port_space;
    if (node && (hints->ai_flags & RAI_FAMILY) && hints->ai_family == AF_IB) {
        info->ai_family = AF_IB;
        address->native.sib_family = AF_IB;
        address->native.sib_pkey = htobe16(0xffff);
        address->native.sib_sid = htobe64((uint64_t)hints->ai_port_space << 16 | port);
        address->native.sib_sid_mask = UINT64_MAX;
        read = inet_pton(AF_INET6, node, &address->native.sib_addr);
    } else if (node) {
        info->ai_family = AF_INET;
        address->ip.sin_family = AF_INET;
        address->ip.sin_port = htons((uint16_t)port);
        read = inet_pton(AF_INET, node, &address->ip.sin_addr);
    }
    if (passive)
        info->ai_src_addr = &address->base;
    else
        info->ai_dst_addr = &address->base;
    *(passive ? &info->ai_src_len : &info->ai_dst_len) =
        info->ai_family == AF_IB ? sizeof address->native : sizeof address->ip;
    if (read != 1) {
        rdma_freeaddrinfo(info);
        errno = EINVAL;
        return -1;
    }
    if (!passive && hints->ai_src_addr) {
        info->ai_src_len = hints->ai_src_len;
        info->ai_src_addr = malloc(hints->ai_src_len);
        memcpy(info->ai_src_addr, hints->ai_src_addr, hints->ai_src_len);
    }
    return 0;
}

EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
    free(info->ai_src_addr);
    free(info->ai_dst_addr);
    free(info);
}

/* Q_Keys: that of the port space UDP (RDMA_UDP_QKEY), and one that a subnet administrator may have given the group of IPoIB. */
static uint32_t qkey_of(struct rdma_cm_id *id)
{
    return id->ps == RDMA_PS_IPOIB ? 0x0b1b : RDMA_UDP_QKEY;
}

/* As librdmacm does it: the kernel looks the P_Key up in the port's table. Datagrams go to RTS at once. */
static int begin(struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = id->port_num};
    uint16_t wanted = id->route.addr.addr.ibaddr.pkey;
    uint16_t found = 0;
    for (int index = 0; wanted && !ibv_query_pkey(id->verbs, id->port_num, index, &found); index++)
        if ((be16toh(found) & 0x7fff) == (be16toh(wanted) & 0x7fff)) {
            attr.pkey_index = (uint16_t)index;
            break;
        }
    if (wanted && (be16toh(found) & 0x7fff) != (be16toh(wanted) & 0x7fff))
        return EINVAL;
    if (id->qp->qp_type != IBV_QPT_UD)
        return ibv_modify_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qkey = qkey_of(id);
    int error = ibv_modify_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    error = error ? error : ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    return error ? error : ibv_modify_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp_init_attr init = {
        .send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .srq = attr->srq, .cap = attr->cap, .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
    };
    id->qp = ibv_create_qp(attr->pd, &init);
    attr->cap = init.cap;
    if (!id->qp)
        return -1;
    errno = begin(id);
    if (errno) {
        ibv_destroy_qp(id->qp);
        id->qp = NULL;
        return -1;
    }
    return 0;
}

EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
    (void)id;
    (void)level;
    (void)name;
    (void)value;
    (void)length;
    return 0;
}

/* Nobody is there. */
EXPORT int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
    struct rdma_cm_event event = {.id = id, .event = RDMA_CM_EVENT_UNREACHABLE, .status = -ETIMEDOUT};
    (void)parameters;
    return failed("call_error") ? -1 : pass_on(&event);
}

EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
    struct rdma_cm_event event = {.id = id, .event = RDMA_CM_EVENT_MULTICAST_JOIN};
    event.param.ud = (struct rdma_ud_param){
        .private_data = context, .ah_attr = {.dlid = 0xc001, .port_num = id->port_num, .is_global = 1}, .qp_num = 0xffffff,
        .qkey = qkey_of(id),
    };
    (void)attr;
    return failed("call_error") ? -1 : pass_on(&event);
}

EXPORT int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *address)
{
    (void)id;
    (void)address;
    return 0;
}

EXPORT int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
    id->channel = channel;
    return 0;
}
