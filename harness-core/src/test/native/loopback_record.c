/* What the queue pairs of loopback_verbs.c received by ibv_modify_qp, field by field, as the C compiler sees it. */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Returns -1 if there is no such field. */
EXPORT long loopback_qp(struct ibv_qp *qp, const char *field)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    if (ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_PATH_MTU, &init))
        return -1;
    const struct {
        const char *name;
        long value;
    } fields[] = {
        {"state", attr.qp_state},
        {"pkey_index", attr.pkey_index},
        {"port_num", attr.port_num},
        {"path_mtu", attr.path_mtu},
        {"min_rnr_timer", attr.min_rnr_timer},
        {"qp_access_flags", attr.qp_access_flags},
        {"is_global", attr.ah_attr.is_global},
        {"dlid", attr.ah_attr.dlid},
        {"sl", attr.ah_attr.sl},
        {"src_path_bits", attr.ah_attr.src_path_bits},
        {"static_rate", attr.ah_attr.static_rate},
        {"ah_port_num", attr.ah_attr.port_num},
        {"sgid_index", attr.ah_attr.grh.sgid_index},
        {"hop_limit", attr.ah_attr.grh.hop_limit},
        {"traffic_class", attr.ah_attr.grh.traffic_class},
        {"flow_label", attr.ah_attr.grh.flow_label},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(field, fields[i].name))
            return fields[i].value;
    return -1;
}
