/*
 * A library in the place of librdmacm.so.1, beside the libibverbs.so.1 of loopback_verbs.c: event channels, ids that are
 * bound to the device "standin0", and queue pairs of theirs. It has no event and no connection.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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
    free(id);
    return 0;
}

EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    (void)channel;
    (void)event;
    errno = EAGAIN;
    return -1;
}

EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    (void)event;
    return 0;
}

EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    if (failed("call_error"))
        return -1;
    if (!opened) {
        struct ibv_device **list = ibv_get_device_list(NULL);
        opened = ibv_open_device(list[0]);
        ibv_free_device_list(list);
    }
    memcpy(&id->route.addr.src_storage, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    id->verbs = opened;
    id->port_num = 1;
    return 0;
}

EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp_init_attr init = {
        .send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .srq = attr->srq, .cap = attr->cap, .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
    };
    id->qp = ibv_create_qp(attr->pd, &init);
    attr->cap = init.cap;
    return id->qp ? 0 : -1;
}
