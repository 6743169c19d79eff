/*
 * The loops of a C program, for comparison: what it costs to post and to poll without a harness.
 *
 * Each function carries out a number of operations and returns how many of them succeeded.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 64, LIST = 32, DEPTH = 64 };

struct loop {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    void *memory;
    struct ibv_sge sge[LIST];
    struct ibv_send_wr list[LIST];
};

static struct ibv_qp_init_attr attributes(struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = LENGTH},
        .qp_type = IBV_QPT_RC,
    };
    return init;
}

static int to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = qp->qp_num,
                   .retry_cnt = 7, .rnr_retry = 7, .timeout = 14, .ah_attr = {.port_num = 1}};
    attr.qp_state = IBV_QPS_INIT;
    if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        return -1;
    attr.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(qp, &attr,
              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        return -1;
    attr.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(qp, &attr,
                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Returns null if something can't be made; this is for a benchmark, which then ends. */
struct loop *loop_open(int opcode, int flags)
{
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct loop *loop = calloc(1, sizeof *loop);
    if (!devices || !devices[0] || !loop)
        return NULL;
    loop->context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    if (!loop->context)
        return NULL;
    loop->pd = ibv_alloc_pd(loop->context);
    loop->channel = ibv_create_comp_channel(loop->context);
    loop->cq = ibv_create_cq(loop->context, DEPTH, NULL, loop->channel, 0);
    struct ibv_qp_init_attr init = attributes(loop->cq);
    loop->qp = ibv_create_qp(loop->pd, &init);
    if (posix_memalign(&loop->memory, 4096, 4096))
        return NULL;
    loop->mr = ibv_reg_mr(loop->pd, loop->memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!loop->qp || !loop->mr || to_rts(loop->qp))
        return NULL;
    for (int i = 0; i < LIST; i++) {
        loop->sge[i] = (struct ibv_sge){(uintptr_t)loop->memory, LENGTH, loop->mr->lkey};
        loop->list[i] = (struct ibv_send_wr){
            .wr_id = (uint64_t)i,
            .next = i + 1 < LIST ? &loop->list[i + 1] : NULL,
            .sg_list = &loop->sge[i],
            .num_sge = 1,
            .opcode = (enum ibv_wr_opcode)opcode,
            .send_flags = (unsigned int)flags,
            .wr.rdma = {.remote_addr = (uintptr_t)loop->memory, .rkey = loop->mr->rkey},
        };
    }
    return loop;
}

/* Posts a prepared request, and polls its completion. */
long loop_single(struct loop *loop, long count)
{
    struct ibv_send_wr *wr = &loop->list[LIST - 1], *bad;
    struct ibv_wc wc;
    long succeeded = 0;
    for (long i = 0; i < count; i++) {
        wr->wr_id = (uint64_t)i;
        if (ibv_post_send(loop->qp, wr, &bad))
            return -1;
        int polled;
        do
            polled = ibv_poll_cq(loop->cq, 1, &wc);
        while (!polled);
        if (polled < 0)
            return -1;
        succeeded += wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)i;
    }
    return succeeded;
}

/* The same with a request that is filled each time. */
long loop_filled(struct loop *loop, long count)
{
    struct ibv_wc wc;
    long succeeded = 0;
    for (long i = 0; i < count; i++) {
        struct ibv_sge sge = {(uintptr_t)loop->memory + (i & 63), LENGTH, loop->mr->lkey};
        struct ibv_send_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
                     .send_flags = IBV_SEND_SIGNALED}, *bad;
        if (ibv_post_send(loop->qp, &wr, &bad))
            return -1;
        int polled;
        do
            polled = ibv_poll_cq(loop->cq, 1, &wc);
        while (!polled);
        if (polled < 0)
            return -1;
        succeeded += wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)i;
    }
    return succeeded;
}

/* Posts a list, of which all requests are signalled or the last one, and polls the completions. */
long loop_list(struct loop *loop, long count, int signalled)
{
    struct ibv_wc wc[LIST];
    struct ibv_send_wr *bad;
    long succeeded = 0;
    int completions = signalled ? LIST : 1;
    for (int i = 0; i < LIST - 1; i++)
        loop->list[i].send_flags = signalled ? IBV_SEND_SIGNALED : 0;
    for (long i = 0; i < count; i++) {
        if (ibv_post_send(loop->qp, loop->list, &bad))
            return -1;
        for (int open = completions; open;) {
            int polled = ibv_poll_cq(loop->cq, LIST, wc);
            if (polled < 0)
                return -1;
            for (int j = 0; j < polled; j++)
                succeeded += wc[j].status == IBV_WC_SUCCESS;
            open -= polled;
        }
    }
    return succeeded;
}

/* Asks for an event, posts a request, waits for the event, and polls. */
long loop_events(struct loop *loop, long count)
{
    struct ibv_send_wr *wr = &loop->list[LIST - 1], *bad;
    struct ibv_wc wc;
    long succeeded = 0;
    for (long i = 0; i < count; i++) {
        struct ibv_cq *cq;
        void *context;
        if (ibv_req_notify_cq(loop->cq, 0) || ibv_post_send(loop->qp, wr, &bad) ||
            ibv_get_cq_event(loop->channel, &cq, &context))
            return -1;
        ibv_ack_cq_events(cq, 1);
        int polled;
        do
            polled = ibv_poll_cq(cq, 1, &wc);
        while (!polled);
        succeeded += polled == 1 && wc.status == IBV_WC_SUCCESS;
    }
    return succeeded;
}

/* Creates queue pairs, and then destroys them. */
long loop_queue_pairs(struct loop *loop, long count)
{
    struct ibv_qp **made = calloc((size_t)count, sizeof *made);
    struct ibv_qp_init_attr init = attributes(loop->cq);
    long succeeded = 0;
    for (long i = 0; made && i < count; i++)
        made[i] = ibv_create_qp(loop->pd, &init);
    for (long i = 0; made && i < count; i++)
        succeeded += made[i] && !ibv_destroy_qp(made[i]);
    free(made);
    return succeeded;
}

/* Registers zeroed memory of 4096 bytes, and then gives all of it back. */
long loop_regions(struct loop *loop, long count)
{
    struct ibv_mr **made = calloc((size_t)count, sizeof *made);
    long succeeded = 0;
    for (long i = 0; made && i < count; i++) {
        void *memory;
        if (posix_memalign(&memory, 4096, 4096))
            break;
        memset(memory, 0, 4096);
        made[i] = ibv_reg_mr(loop->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
    }
    for (long i = 0; made && i < count && made[i]; i++) {
        void *memory = made[i]->addr;
        succeeded += !ibv_dereg_mr(made[i]);
        free(memory);
    }
    free(made);
    return succeeded;
}
